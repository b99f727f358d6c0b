"""A party in a separate process, which alone has its rows and answers over a pipe."""

import multiprocessing

from privcurve.privacy.sealed import open_values

# Spawn the process: it shares no memory with this process.
SPAWN = multiprocessing.get_context("spawn")


def serve(pipe):
    """Answer questions about the rows sent before, until a message ends the loop."""
    from privcurve.holders.holder import LocalHolder

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
    """A process with the rows of one party, which later parties reuse."""

    def __init__(self):
        self.pipe, other = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def begin(self, rows, questions, n_classes, door):
        """Send rows (sealed in this process), questions, the number of classes and the curator."""
        self.pipe.send(("begin", (open_values(rows), questions, n_classes, door)))
        door.leave()
        return ProcessHolder(self.pipe)

    def stop(self):
        self.pipe.send(("stop", ()))
        self.process.join(timeout=30)
        self.pipe.close()


class ProcessHolder:
    """A party of the protocol that forwards each request to its process."""

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
