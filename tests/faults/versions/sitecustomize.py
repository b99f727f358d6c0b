"""On the PYTHONPATH of a run: its boosting has another version than the registry."""

import os
from dataclasses import replace

if "PRIVCURVE_TEST_VERSION" in os.environ:
    from privcurve.learners import registry

    registry.LEARNERS["lazybb"] = replace(
        registry.entry("lazybb"), version=int(os.environ["PRIVCURVE_TEST_VERSION"])
    )
