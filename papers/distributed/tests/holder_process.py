"""Run a party in its own process, which has the party's rows and answers requests over a pipe."""

import multiprocessing

from privcurve.privacy.sealed import open_values

# A spawned process, unlike a forked one, shares no memory with this process.
SPAWN = multiprocessing.get_context("spawn")


def serve(pipe):
    """Answer requests until a "stop" message.

    A "begin" message brings the rows of a party; later requests are about these rows.
    """
    from privcurve.learners.holders.holder import LocalHolder

    holder = None
    while True:
        method, arguments = pipe.recv()
        if method == "stop":
            return
        if method == "begin":
            holder = LocalHolder(*arguments)
        else:
            answer = getattr(holder, method)
            pipe.send(answer(*arguments) if callable(answer) else answer)


class Process:
    """A process that plays one party at a time; each call of :meth:`begin` starts another party."""

    def __init__(self):
        self.pipe, other = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def begin(self, rows, questions, n_classes, door):
        """Make the process a party with these rows, and return a stand-in object for the party.

        Rows are sealed in this process. They are sent unsealed, with the questions, the number of
        classes and the curator `door`.
        """
        self.pipe.send(("begin", (open_values(rows), questions, n_classes, door)))
        door.leave()
        return ProcessHolder(self.pipe)

    def stop(self):
        self.pipe.send(("stop", ()))
        self.process.join(timeout=30)
        self.pipe.close()


class ProcessHolder:
    """Stand-in for a party, which forwards each request to the party's process."""

    def __init__(self, pipe):
        self.pipe = pipe

    @property
    def size(self):
        return self._ask("size")

    def __getattr__(self, method):
        return lambda *arguments: self._ask(method, *arguments)

    def _ask(self, method, *arguments):
        self.pipe.send((method, arguments))
        return self.pipe.recv()
