"""On the PYTHONPATH of a run: one of its jobs stops at a moment that a test has chosen.

So the test finds the job alive at this moment, however busy the machine is. `cells` is the number
of runs that the job has stored before, and `part` the share of the next line that is written;
`files` is the number of files that the job has moved into place before the next one, which it has
written under a temporary name.
"""

import json
import os
import signal
import sys

moment = json.loads(os.environ.get("PRIVCURVE_TEST_MOMENT", "{}"))

if "privcurve.workflow.job" in sys.orig_argv and moment.get("job") in sys.orig_argv:
    from privcurve import files
    from privcurve.experiments import store

    append, flush = store.append, files.sync

    def passes(what):
        moment[what] = moment.get(what, -1) - 1
        return moment[what] != -1

    def append_or_stand_still(file, data):
        if passes("cells"):
            append(file, data)
        else:
            cut = int(moment["part"] * len(data))
            append(file, data[:cut])
            os.kill(os.getpid(), signal.SIGSTOP)
            append(file, data[cut:])

    def flush_or_stand_still(path):
        if not passes("files"):
            os.kill(os.getpid(), signal.SIGSTOP)
        flush(path)

    store.append, files.sync = append_or_stand_still, flush_or_stand_still
