"""Three parties grow a private tree together, as three processes with messages over sockets.

    python papers/distributed/examples/three_holders.py
    python papers/distributed/examples/three_holders.py --trust local --protocol local_rnm

Each party (``Holder`` in the code) is a process that reads its own records from its own file. The
server reads no records, only public facts (columns, their bins, the number of records of each
party) and messages. It runs the same method as the studies, ``DistributedTopDownClassifier.grow``,
but its parties implement the interface ``Holder`` by sockets; in a deployment, a framework for
federated learning would replace the sockets.

With ``--trust secure_sum`` one party of each pair adds a random mask and the other subtracts it, so
that a single message is meaningless to the server; the sum of the messages is the noisy histogram.
This script only demonstrates secure aggregation. It deals out the secrets of the pairs, but real
parties would agree on them among themselves. It does not encrypt messages, and it fails if a party
drops out.
"""

from __future__ import annotations

import argparse
import base64
import json
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privcurve.kernels.holder_counts import Questions, list_questions
from privcurve.learners.holders.holder import Ballot, HolderRows, LocalHolder
from privcurve.learners.holders.placement import deal, draw_placement
from privcurve.learners.holders.sums import MessageNoise
from privcurve.learners.holders.transcript import Transcript

N_HOLDERS = 3
HOST = "127.0.0.1"

# Requests that a party answers; it refuses all others.
ASKED = ("size", "split", "vote", "counts")
# Requests whose answers a party masks, because the server needs only their sum over all parties.
SUMMED = ("counts",)
# Classes whose instances may be arguments of a request, by name.
NAMED = {kind.__name__: kind for kind in (Ballot, MessageNoise)}


# --- messages: a line of JSON for each request and each answer ---------------------------------


def encode(value: object) -> Any:
    """Return an argument or answer as plain JSON, which contains no code to execute."""
    if isinstance(value, np.ndarray):
        numbers = base64.b64encode(value.tobytes()).decode()
        return {"array": numbers, "type": value.dtype.str, "shape": value.shape}
    if type(value) in NAMED.values():
        return {"named": type(value).__name__, "parts": list(map(encode, value))}
    if isinstance(value, (list, tuple, range)):
        return list(map(encode, value))
    return value.item() if isinstance(value, np.generic) else value


def decode(value: object) -> Any:
    """Return the argument or answer that :func:`encode` converted to JSON."""
    if isinstance(value, list):
        return list(map(decode, value))
    if isinstance(value, dict) and "array" in value:
        numbers = np.frombuffer(base64.b64decode(value["array"]), dtype=value["type"])
        return numbers.reshape(value["shape"])
    if isinstance(value, dict):
        return NAMED[value["named"]](*map(decode, value["parts"]))
    return value


class Wire:
    """A socket that sends and receives values as lines of JSON; `got` counts received bytes."""

    def __init__(self, connected: socket.socket) -> None:
        self.lines = connected.makefile("rw", encoding="ascii", newline="\n")
        self.got = 0

    def send(self, value: object) -> None:
        """Send a value as a line of JSON."""
        self.lines.write(json.dumps(encode(value)) + "\n")
        self.lines.flush()

    def receive(self) -> Any:
        """Wait for a value and return it; raise EOFError if the socket is closed."""
        line = self.lines.readline()
        if not line:
            raise EOFError("the other side has closed its socket")
        self.got += len(line)
        return decode(json.loads(line))


# --- a party's process --------------------------------------------------------------------------


def read_file(file: Path) -> tuple[LocalHolder, int, list[int]]:
    """Return a party with the records of `file`, its number, and its secrets with other parties."""
    with np.load(file) as own:
        questions = list_questions(own["n_bins"], own["ordered"].tolist())
        rows = HolderRows(own["bins"], own["classes"], own["counts"])
        made = LocalHolder(rows, questions, int(own["n_classes"]), own["noise"].tolist())
        return made, int(own["number"]), own["keys"].tolist()


def hold(file: Path, port: int) -> None:
    """Run a party: answer the server from the records of `file` until the server disconnects."""
    holder, number, keys = read_file(file)
    masks = {i: np.random.default_rng(key) for i, key in enumerate(keys) if i != number}
    with socket.create_connection((HOST, port)) as connected:
        wire = Wire(connected)
        wire.send(number)
        while True:
            try:
                method, arguments = wire.receive()
            except EOFError:
                return
            if method not in ASKED:
                raise ValueError(
                    f"a party must be asked for one of {', '.join(ASKED)}; got {method!r}"
                )
            answer = getattr(holder, method)
            answer = answer(*arguments) if callable(answer) else answer
            if method in SUMMED and answer.dtype == np.uint32:
                answer = masked(answer, number, masks)
            wire.send(answer)


def masked(message: np.ndarray, number: int, masks: dict[int, np.random.Generator]) -> np.ndarray:
    """Return a message with masks that cancel in the sum over all parties, modulo 2**32.

    `masks` has a random generator for each other party. Of each pair, the party with the smaller
    number adds the mask, and the other party subtracts it.
    """
    masked = message.copy()
    for other, rng in masks.items():
        mask = rng.integers(2**32, size=message.shape, dtype=np.uint32)
        masked = masked + mask if number < other else masked - mask
    return masked


# --- the server's process -----------------------------------------------------------------------


class RemoteHolder:
    """A party behind a socket; it implements :class:`~privcurve.learners.holders.holder.Holder`."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.said: list[tuple[str, np.ndarray]] = []
        self.size = int(self._ask("size"))

    def __getattr__(self, method: str) -> Any:
        if method not in ASKED:
            raise AttributeError(method)
        return partial(self._ask, method)

    def _ask(self, method: str, *arguments: Any) -> Any:
        self.wire.send([method, arguments])
        answer = self.wire.receive()
        if isinstance(answer, np.ndarray):
            self.said.append((method, answer))
        return answer


def write_files(folder: Path, data: object, questions: Questions, seed: int | None) -> list[Path]:
    """Write a file of records for each party, and return the paths."""
    from privcurve.kernels.trees.form import bin_codes

    codes = np.ascontiguousarray(data.X)
    classes = np.searchsorted([-1, 1], data.y)
    records = np.ones(len(classes), dtype=np.int64)
    rng = np.random.default_rng(seed)
    draws = draw_placement(len(classes), 2, N_HOLDERS, "random", rng)
    parts = deal(codes, classes, records, N_HOLDERS, "random", draws)
    bins = bin_codes(codes, np.diff(questions.starts))
    keys = np.zeros((N_HOLDERS, N_HOLDERS), dtype=np.uint64)
    for i in range(N_HOLDERS):
        for j in range(i):
            keys[i, j] = keys[j, i] = secrets.randbits(63)
    public = {"n_bins": data.domain.n_bins, "ordered": data.domain.ordered, "n_classes": 2}
    files = []
    for number, (mine, counts) in enumerate(parts):
        rows = HolderRows(bins[mine], classes[mine], counts)
        # The seed of a party's noise is the party's own secret. Only for --check is it in the
        # party's file, so that this process can draw the same noise again.
        own = {"noise": [secrets.randbits(32) for _ in range(4)], "keys": keys[number]}
        files.append(folder / f"holder~{number}.npz")
        np.savez(files[-1], **rows._asdict(), **own, **public, number=number)
    return files


def meet(server: socket.socket) -> list[RemoteHolder]:
    """Wait until all parties have connected, and return them in the order of their numbers."""
    wires = {}
    while len(wires) < N_HOLDERS:
        wire = Wire(server.accept()[0])
        wires[wire.receive()] = wire
    return [RemoteHolder(wires[number]) for number in range(N_HOLDERS)]


def report(holders: Sequence[RemoteHolder], transcript: Transcript) -> None:
    """Print how many messages of each kind, and how many bytes, each party has sent."""
    for number, (holder, bits) in enumerate(zip(holders, transcript.bits_sent, strict=True)):
        kinds = [kind for kind, _ in holder.said]
        told = ", ".join(f"{kinds.count(kind)} × {kind}" for kind in dict.fromkeys(kinds))
        method, numbers = holder.said[-1]
        first = " ".join(f"{value:.10g}" for value in numbers.ravel()[:5])
        print(f"party {number} of {holder.size} records sent {told}")
        print(f"  {bits // 8:,} bytes of payload, {holder.wire.got:,} as JSON")
        print(f"  the last message, {method} {numbers.shape}, begins {first} …")
    rounds, down = transcript.rounds, transcript.received // 8
    print(f"{rounds} rounds; the server told each party {down} bytes\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Grow a tree with three parties, or run one of the parties (``--holder``)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protocol", choices=("noisy_counts", "local_rnm"), default="noisy_counts")
    parser.add_argument("--trust", choices=("secure_sum", "local"), default="secure_sum")
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--seed", type=int, help="of who gets which record; noise has its own")
    parser.add_argument("--check", action="store_true", help="grow it in one process too, compare")
    parser.add_argument("--holder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.holder:
        hold(options.holder, options.port)
        return 0
    # These imports are here because the process of a party needs none of these modules.
    from privcurve import datasets
    from privcurve.learners import registry
    from privcurve.learners.trees import TreeModel

    data = datasets.load("wdbc")
    learner = registry.estimator_class("distributed_topdown")(
        protocol=options.protocol,
        trust=options.trust,
        n_holders=N_HOLDERS,
        depth=options.depth,
        epsilon=options.epsilon,
        delta=1e-5,
    )
    # These attributes are public facts. `fit` would set them from the records, but the server has
    # none.
    learner.classes_, learner.n_bins_ = np.array([-1, 1]), np.array(data.domain.n_bins)
    questions = list_questions(learner.n_bins_, data.domain.ordered)
    transcript = Transcript(N_HOLDERS)
    with tempfile.TemporaryDirectory() as name, socket.create_server((HOST, 0)) as server:
        folder, port = Path(name), str(server.getsockname()[1])
        files = write_files(folder, data, questions, options.seed)
        here = [read_file(file)[0] for file in files] if options.check else []
        command = [sys.executable, __file__, "--port", port, "--holder"]
        processes = [subprocess.Popen([*command, str(file)]) for file in files]
        try:
            holders = meet(server)
            tree, statement = learner.grow(holders, questions, transcript)
        finally:
            for process in processes:
                process.terminate()
                process.wait()
    report(holders, transcript)
    print(TreeModel(tree.forest(questions, 2), learner.n_bins_).describe(data.domain.bin_names))
    print(statement)
    if options.check:
        again, _ = learner.grow(here, questions, Transcript(N_HOLDERS))
        same = vars(again) == vars(tree)
        print("the same tree as in one process" if same else "NOT the tree of one process")
        return 0 if same else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
