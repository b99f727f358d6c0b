"""On the PYTHONPATH of a run: one of its jobs stands still at a moment that a test has chosen.

So the test finds it there, alive, whatever else the machine is doing. `cells` counts the runs
that the job has stored before, and `part` is how much of the next line has been written;
`files` counts the files that it has moved into place before, of which the next one is written
under its temporary name.
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
