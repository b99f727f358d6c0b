"""Seeds: a public number, or a secret that is stored in a file outside every repository.

All noise of a model follows from its seed and from public facts. Anyone who knows the seed can draw
the noise again, and for them ε is infinite. A public number is right for benchmarks, whose records
are public too. For private records the seed is a secret: 256 bits of the system's entropy, in a
file that only its owner may read. Outputs contain only its name, a SHA-256 hash, which reveals
nothing about 256 random bits. Each random stream is ChaCha20 with an HMAC-SHA256 key under the
secret: neither an id nor a digest reveals the key, and the parts of a stream that a model contains
reveal nothing about the rest. A public number seeds NumPy's PCG64.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from randomgen.chacha import ChaCha

from privcurve.errors import ExpectedError
from privcurve.files import open_private

# The value of `seed` for the workflow's secret seed, in the configuration and on command lines.
SECRET = "secret"
WORKFLOW = "workflow"

ENDING = ".seed"
VARIABLE = "PRIVCURVE_SEEDS"

# For each kind of generator: the exclusion in the privacy statement of a fit whose noise it draws
# (docs/privacy.md, What is not covered).
ANY_GENERATOR = (
    "what can be computed of the random numbers: the noise, and the public coins that a model may "
    "show, are drawn from, or begun by, "
)
OF_CHACHA = (
    f"{ANY_GENERATOR}one stream of ChaCha20 (20 rounds, a key of 256 bits), which is made for "
    "cryptography (that nobody can tell it from random numbers is assumed, not proved)"
)
OF_NUMBER = (
    f"{ANY_GENERATOR}one stream of NumPy's PCG64, begun by a number or handed in: a number as seed "
    "is not private against whoever knows it, and PCG64 is not made for cryptography, for its seed "
    "has been recovered from its output (Bouillaguet, Martinez and Sauvage, ToSC 2020(3))"
)
OF_OTHER = (
    f"{ANY_GENERATOR}a generator that was handed in ({{}}), and whoever knows its state, or can "
    "compute it from its output, can draw the noise again"
)

# The start of a stream: a key of ChaCha20, or public numbers.
Start = bytes | int | Sequence[int]
Coins = TypeVar("Coins", np.random.Generator, np.random.RandomState)

_SIZE = 32
# Generators that may draw noise. Noise needs words of 64 random bits (MT19937 gives two words of
# 32), and fractions of 53 bits. Other generators may give fewer bits: then noise hides nothing.
KINDS = (
    np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937,
    ChaCha,
)  # fmt: skip
# Prefix of the text whose hash is the name of a secret. Ids of runs contain this name: increase the
# number in the prefix when secret seeds get another generator.
_NAMED = b"privcurve: the name of a seed, 2\n"
# A stream draws this many numbers of 32 bits to seed another stream.
SEED = 4
_STREAM = b"privcurve: a stream\n"

# Hashes of the starts that `start_of_fit` has drawn in this process, the latest last.
_begun: dict[bytes, None] = {}
_MOST_MARKS = 10_000
_PROCESS = os.getpid()


class SeedError(ExpectedError, ValueError):
    """A seed that must not be used; the message has the remedy."""


@dataclass(frozen=True)
class SecretSeed:
    """A secret of 256 random bits, which no text shows, and the file that contains it."""

    key: bytes = field(repr=False)
    path: Path = field(compare=False)

    @cached_property
    def name(self) -> str:
        """A public name of the secret: a hash of it."""
        return f"{SECRET}:{hashlib.sha256(_NAMED + self.key).hexdigest()}"

    def __str__(self) -> str:
        return f"the secret seed in {self.path} ({self.name[: len(SECRET) + 13]})"


Seed = int | SecretSeed


def public_name(seed: Seed) -> int | str:
    """Return the public form of a seed, for files: the number, or the name of a secret."""
    return seed.name if isinstance(seed, SecretSeed) else seed


def start_number(seed: Seed, digest: str) -> int:
    """Return the number that starts a random stream.

    `digest` is a hash, in hex, of the stream's purpose and of the seed's :func:`public_name`. For a
    public seed, the result is the digest as a number. For a secret seed, the result can't be
    computed from the digest without the secret.
    """
    if isinstance(seed, SecretSeed):
        digest = hmac.new(seed.key, _STREAM + digest.encode("ascii"), "sha256").hexdigest()
    return int(digest, 16)


def generator(seed: Seed, digest: str) -> np.random.Generator:
    """Return the stream that starts with :func:`start_number`: ChaCha20 if the seed is secret."""
    first = start_number(seed, digest)
    return stream(first.to_bytes(_SIZE, "big") if isinstance(seed, SecretSeed) else first)


def stream(start: Start, like: object = None) -> np.random.Generator:
    """Return a random stream: ChaCha20 for a key of 32 bytes, PCG64 for numbers.

    If `start` has numbers and `like` is another generator of NumPy's, the stream has the kind of
    `like` instead.
    """
    if isinstance(start, bytes):
        if len(start) != _SIZE:
            raise ValueError(f"a key of ChaCha20 must have {_SIZE} bytes; got {len(start)}")
        return np.random.Generator(ChaCha(key=int.from_bytes(start, "little"), rounds=20))
    numbers = np.random.SeedSequence(
        start if isinstance(start, int) else [int(one) for one in start]
    )
    if isinstance(like, np.random.Generator) and type(like.bit_generator) in KINDS[1:-1]:
        return np.random.Generator(type(like.bit_generator)(numbers))
    return np.random.default_rng(numbers)


def fresh_stream() -> np.random.Generator:
    """Return a stream of ChaCha20 whose key comes from the system's entropy and is not stored."""
    return stream(secrets.token_bytes(_SIZE))


def stream_starts(coins: np.random.Generator, n: int, size: int) -> list[Start]:
    """Draw the starts of `n` streams: keys if `coins` is ChaCha20, else `size` numbers each."""
    if is_chacha(coins):
        return [coins.bytes(_SIZE) for _ in range(n)]
    return coins.integers(2**32, size=(n, size)).tolist()


def child_of(coins: Coins) -> Coins:
    """Return a stream of the kind of `coins`, whose start is drawn from `coins`."""
    start = _draw_start(coins)
    if isinstance(coins, np.random.RandomState):
        return np.random.RandomState(np.array(start, dtype=np.uint32))
    return stream(start, coins)


def start_of_fit(coins: np.random.Generator | np.random.RandomState) -> Start:
    """Draw the start of a fit's stream from a generator given by the user.

    Warn if another fit may have the same noise. This is the case if the generator has started a fit
    of this process in the same state, or if the process was forked: then other processes may have a
    copy of the generator.
    """
    if isinstance(coins, np.random.Generator):
        check_generator(coins)
    start = _draw_start(coins)
    mark = hashlib.sha256(repr(start).encode("ascii")).digest()
    got = "a generator in a state that has started another fit" if mark in _begun else ""
    if os.getpid() != _PROCESS:
        got = "a generator in a forked process, of which other processes may have a copy"
    if got:
        warnings.warn(
            f"random_state must be a generator that only this fit uses; got {got}: equal noise "
            "on two tables reveals what it hides. Give each fit a stream of its own "
            "(privcurve.privacy.seeds.stream with 32 new secret bytes), or None.",
            stacklevel=6,  # the warning names the user's line that calls `fit`
        )
    _begun[mark] = None
    if len(_begun) > _MOST_MARKS:
        del _begun[next(iter(_begun))]
    return start


def _draw_start(coins: np.random.Generator | np.random.RandomState) -> Start:
    if isinstance(coins, np.random.RandomState):
        drawn: Sequence[int] = coins.randint(2**32, size=SEED, dtype=np.uint32).tolist()
        return drawn
    return stream_starts(coins, 1, SEED)[0]


def is_chacha(coins: np.random.Generator) -> bool:
    """Return whether a stream is ChaCha with at least 20 rounds."""
    bits = coins.bit_generator
    return isinstance(bits, ChaCha) and bits.state["state"]["rounds"] >= 20


def check_generator(coins: np.random.Generator) -> None:
    """Refuse (ValueError) a generator that must not draw noise."""
    if not isinstance(coins.bit_generator, KINDS):
        name = type(coins.bit_generator).__name__
        raise ValueError(
            "random_state must be one of NumPy's generators, or randomgen's ChaCha; got "
            f"{name}, whose words may have fewer bits than noise needs"
        )


def generator_exclusion(coins: np.random.Generator) -> str:
    """Return the exclusion that describes the generator of a fit in its statement."""
    if is_chacha(coins):
        return OF_CHACHA
    name = type(coins.bit_generator).__name__
    return OF_NUMBER if name == "PCG64" else OF_OTHER.format(name)


def folder() -> Path:
    """Return the folder of the user's seeds.

    It is ``PRIVCURVE_SEEDS``, or ``privcurve/seeds`` below ``XDG_STATE_HOME`` (by default
    ``~/.local/state``).
    """
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser().absolute()
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    home = state if state.is_absolute() else Path.home() / ".local/state"
    return home / "privcurve/seeds"


def path_of(name: str) -> Path:
    """Return the file of a secret seed; `name` is the name of a dataset, or ``workflow``."""
    return folder() / f"{name}{ENDING}"


def resolve(given: int | str, make: bool = False) -> Seed:
    """Return the seed for a value in a configuration or on a command line.

    The value is a number; ``secret``, for the workflow's secret; or the path of a file ``….seed``.
    With `make`, a missing secret is made.

    Raises SeedError for other values, and for the same files as :func:`read`.
    """
    place = place_of(given)
    if isinstance(place, int):
        return place
    return read_or_make(place) if make else read(place)


def place_of(given: int | str) -> int | Path:
    """Return the seed if the value is a number, else the path of the secret; see `resolve`."""
    text = str(given)
    if re.fullmatch(r"\d+", text):
        return int(text)
    if text == SECRET:
        return path_of(WORKFLOW)
    if text.endswith(ENDING):
        return Path(text).expanduser()
    raise SeedError(
        f"seed must be a number, the word {SECRET}, or the path of a file that ends in "
        f"{ENDING}; got {text!r}"
    )


def check_secret(path: Path) -> None:
    """Check a secret seed if it exists, else only its path; raise SeedError as `read` does."""
    if path.exists():
        read(path)
    else:
        _check_place(path)


def read_or_make(path: Path) -> SecretSeed:
    """Read a secret seed; make it from the system's entropy if it does not exist."""
    if not path.exists():
        _check_place(path)
        make(path)
    return read(path)


def make(path: Path, key: str = "") -> None:
    """Write a new secret seed, readable by its owner alone; an existing seed is kept.

    `key` has 64 hex digits; if it is empty, it is drawn from the system's entropy.

    Raises SeedError if it can't be written.
    """
    temporary = path.with_name(f".{os.getpid()}.{secrets.token_hex(4)}{ENDING}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open_private(temporary, "xb") as file:
                file.write(f"{key or secrets.token_hex(_SIZE)}\n".encode())
                os.fsync(file.fileno())
            # Unlike a rename, a link never overwrites a seed that another process made meanwhile.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise SeedError(
            f"the secret seed {path} can't be made: {error.strerror}. Set another folder in the "
            f"environment variable {VARIABLE}."
        ) from None


def read(path: Path) -> SecretSeed:
    """Read a secret seed.

    Raises SeedError if it is missing, readable by others, within a git work tree, or invalid.
    """
    _check_place(path)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(4 * _SIZE)
    except OSError as error:
        raise SeedError(
            f"the secret seed {path} can't be read: {error.strerror}. A run makes it once; if "
            f"it was made elsewhere, set its folder in the environment variable {VARIABLE}."
        ) from None
    # On Windows the mode of a file does not tell who may read it.
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SeedError(
            f"the secret seed {path} must be readable by its owner alone; its mode is "
            f"{stat.S_IMODE(mode):o}. Readers can remove the noise from every model made with "
            "it. If someone may have read it, move it away, and a new one is made; otherwise: "
            f"chmod 600 {path}"
        )
    if not re.fullmatch(rb"[0-9a-f]{64}\s*", content):
        raise SeedError(
            f"{path} must have a secret seed (64 hex digits); it has none. Move it away, and a "
            "new one is made."
        )
    return SecretSeed(bytes.fromhex(content.decode("ascii").strip()), path.absolute())


def _check_place(path: Path) -> None:
    # Symbolic links are resolved, so that the folder of the file itself is checked.
    for parent in path.absolute().resolve().parents:
        if (parent / ".git").exists():
            raise SeedError(
                f"the secret seed {path} must be outside of git repositories; it is in "
                f"{parent}, where it may be committed. Set another folder in the environment "
                f"variable {VARIABLE}."
            )


def check(seed: Seed, dataset: str, public_benchmark: bool) -> None:
    """Refuse (SeedError) to train on private records with a public seed."""
    if public_benchmark or isinstance(seed, SecretSeed):
        return
    raise SeedError(
        f"the seed must be secret for the private records of {dataset!r}; got {seed}, a public "
        "number: anyone who knows it can draw the noise of a model again (epsilon = infinity). "
        f"In config/config.yaml write seed: {SECRET}, or give snakemake --config seed={SECRET}. "
        f"It is made once and stored in {folder()}. (If the records themselves are public, set "
        f"public_benchmark: true in the description of {dataset!r}.)"
    )
