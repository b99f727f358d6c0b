"""Seeds: public numbers, secrets in files, and streams that stored texts do not reveal."""

import copy
import hmac
import json
import multiprocessing
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from randomgen import ChaCha
from scipy import stats
from small_study import dataset_stub

from privcurve import datasets, schema
from privcurve.experiments import runs, study
from privcurve.experiments.curves import Curve
from privcurve.experiments.splits import fold_splits, partition_generator
from privcurve.privacy import discrete, seeds
from privcurve.privacy.seeds import SecretSeed, SeedError

ROOT = Path(__file__).parents[2]
A, B = (SecretSeed(bytes([k]) * 32, Path(f"{k}.seed")) for k in (1, 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    return tmp_path / "seeds"


# Files -----------------------------------------------------------------------------


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(folder):
    first = seeds.resolve("secret", make=True)
    path = folder / "workflow.seed"
    assert first.path == path
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert seeds.resolve("secret", make=True) == first == seeds.resolve("secret")
    assert path.read_text().strip() == first.key.hex()
    assert [one.name for one in folder.iterdir()] == ["workflow.seed"]
    other = seeds.read_or_make(seeds.path_of("patients"))
    assert other.key != first.key
    assert len(other.key) == 32


def test_where_seeds_are(monkeypatch):
    monkeypatch.delenv("PRIVCURVE_SEEDS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert seeds.folder() == Path("/state/privcurve/seeds")
    for home in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", home)
        assert seeds.folder() == Path.home() / ".local/state/privcurve/seeds"


def _made(path, start, queue):
    start.wait()
    queue.put(seeds.read_or_make(path).key)


def test_two_processes_that_make_one_have_the_same(folder):
    context = multiprocessing.get_context("fork")
    start, queue = context.Event(), context.Queue()
    path = folder / "shared.seed"
    workers = [context.Process(target=_made, args=(path, start, queue)) for _ in range(4)]
    for worker in workers:
        worker.start()
    start.set()
    keys = {queue.get(timeout=20) for _ in workers}
    for worker in workers:
        worker.join()
    assert keys == {seeds.read(path).key}


def test_a_job_makes_none(folder):
    with pytest.raises(SeedError, match=r"workflow\.seed can't be read: .*PRIVCURVE_SEEDS"):
        seeds.resolve("secret")
    assert not folder.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610])
def test_a_seed_that_others_may_read_is_refused(folder, mode):
    path = seeds.resolve("secret", make=True).path
    path.chmod(mode)
    with pytest.raises(
        SeedError, match=f"by its owner alone; its mode is {mode:o}.*chmod 600 {path}"
    ):
        seeds.resolve("secret", make=True)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_seed_in_a_git_repository_is_refused_and_not_made(tmp_path, monkeypatch, as_file):
    git = tmp_path / "project/.git"
    git.parent.mkdir()
    # In an added work tree, or a submodule, .git is a file.
    git.write_text("gitdir: elsewhere") if as_file else git.mkdir()
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "project/deep/seeds"))
    with pytest.raises(
        SeedError, match=r"must be outside of git repositories; it is in .*project.*PRIVCURVE_SEEDS"
    ):
        seeds.resolve("secret", make=True)
    # A link from outside the checkout leads inside.
    (tmp_path / "project/deep").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project/deep")
    with pytest.raises(SeedError, match="outside of git repositories"):
        seeds.resolve(str(tmp_path / "link/mine.seed"), make=True)
    assert not list(tmp_path.rglob("*.seed"))


@pytest.mark.parametrize("content", ["", "20210\n", "z" * 64, "ab" * 40, "\xff" * 64])
def test_an_invalid_seed_is_refused(folder, content):
    path = seeds.resolve("secret", make=True).path
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(SeedError, match="must have a secret seed"):
        seeds.resolve("secret")


def test_a_seed_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "file/seeds"))
    with pytest.raises(SeedError, match=r"can't be made: Not a directory.*PRIVCURVE_SEEDS"):
        seeds.resolve("secret", make=True)


def test_seeds_that_a_configuration_may_have(tmp_path, folder):
    assert seeds.resolve(20210) == seeds.resolve("20210") == 20210
    other = seeds.resolve(str(tmp_path / "other.seed"), make=True)
    assert other.path == tmp_path / "other.seed"
    for wrong in ("secrt", "-1", "1.5", "", "my/file.txt"):
        with pytest.raises(SeedError, match="must be a number, the word secret"):
            seeds.resolve(wrong)


# Streams ---------------------------------------------------------------------------


def quickstart(seed):
    made = study.load(ROOT / "config/studies/quickstart.yaml")
    method = next(iter(made.methods.values()))
    ids = runs.RunIds(dataset_stub("wdbc"), "checksum", method, seed)
    return [ids.run(method.points[0], split) for split in fold_splits(3)]


def test_streams_of_a_public_seed_follow_from_the_ids():
    (run, *_) = quickstart(20210)
    assert seeds.start_number(20210, run.id) == int(run.id, 16)


def test_an_id_of_a_secret_seed_does_not_reveal_its_stream():
    for run, other in zip(quickstart(A), quickstart(B), strict=True):
        of_seeds = ((A, run), (7, run), (B, other))
        draws = [seeds.generator(seed, one.id).random(4).tolist() for seed, one in of_seeds]
        assert draws[0] == seeds.generator(A, run.id).random(4).tolist()
        assert draws[0] != draws[1]
        assert draws[0] != draws[2]
        assert run.id != other.id
        # Another secret draws other numbers for the same id.
        assert seeds.start_number(A, run.id) != seeds.start_number(B, run.id)


def test_a_stream_follows_from_the_key_and_not_from_the_name():
    """HMAC-SHA256 under the key: the name and the digest do not reveal it."""
    digest = "ab" * 32
    mac = hmac.new(A.key, b"privcurve: a stream\n" + digest.encode(), "sha256").hexdigest()
    assert seeds.start_number(A, digest) == int(mac, 16)
    alias = SecretSeed(B.key, A.path)
    alias.__dict__["name"] = A.name
    assert seeds.public_name(alias) == seeds.public_name(A)
    assert seeds.start_number(alias, digest) != seeds.start_number(A, digest)


# RFC 8439, appendix A.1, tests 1, 3 and 4: (key, counter, key stream).
KEY_STREAMS = [
    ("00" * 32, 0, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"),
    ("00" * 31 + "01", 1, "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"),
    ("00ff" + "00" * 30, 2, "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"),
]


@pytest.mark.parametrize(("key", "block", "expected"), KEY_STREAMS)
def test_a_key_begins_the_published_stream_of_chacha20(key, block, expected):
    bits = seeds.stream(bytes.fromhex(key)).bit_generator
    words = bits.random_raw(8 * block + 4)[8 * block :]
    assert words.astype("<u8").tobytes().hex() == expected


def test_a_secret_seed_begins_chacha20_with_all_of_its_256_bits():
    digest = "ab" * 32
    key = hmac.new(A.key, b"privcurve: a stream\n" + digest.encode(), "sha256").digest()
    drawn = seeds.generator(A, digest)
    assert seeds.is_chacha(drawn)
    assert drawn.bit_generator.state["state"]["rounds"] == 20
    assert drawn.bit_generator.state["state"]["keysetup"].astype("<u4").tobytes() == key
    # Holders and private runs derive their own keys; a public seed derives their numbers.
    assert [len(one) for one in seeds.stream_starts(drawn, 3, 4)] == [32, 32, 32]
    public = seeds.generator(7, digest)
    assert isinstance(public.bit_generator, np.random.PCG64)
    assert [len(one) for one in seeds.stream_starts(public, 2, 4)] == [4, 4]
    assert seeds.fresh_stream().integers(2**63) != seeds.fresh_stream().integers(2**63)
    with pytest.raises(ValueError, match="must have 32 bytes; got 16"):
        seeds.stream(bytes(16))


def test_a_stream_of_chacha20_serves_wherever_one_of_pcg64_does():
    drawn = seeds.stream(bytes(range(32)))
    for twin in (copy.deepcopy(drawn), pickle.loads(pickle.dumps(drawn)), drawn):
        assert seeds.is_chacha(twin)
        assert twin.random() == 0.41445576247967597
    # A compiled loop draws from the same stream.
    small, large = discrete.discrete_laplace(drawn, 3, 4000), 4000
    assert abs(small.var() - 2 * 3 * 3) < 4
    again = seeds.stream(bytes(range(32)))
    again.random()
    assert (discrete.discrete_laplace(again, 3, 4000) == small).all()
    # False alarm: 10⁻⁴ each.
    for draw, law in [
        ("laplace", stats.laplace),
        ("normal", stats.norm),
        ("gumbel", stats.gumbel_r),
        ("standard_exponential", stats.expon),
        ("random", stats.uniform),
    ]:
        assert stats.kstest(getattr(drawn, draw)(size=large), law.cdf).pvalue > 1e-4


def test_a_generator_with_fewer_rounds_is_not_called_chacha20():
    weak = np.random.Generator(ChaCha(key=1, rounds=8))
    assert not seeds.is_chacha(weak)
    assert "handed in (ChaCha)" in seeds.generator_exclusion(weak)


def test_partitions_follow_from_the_secret():
    draws = [partition_generator("d", "c", 5, 0, seed).random() for seed in (A, B, 1, A)]
    assert draws[0] == draws[3]
    assert len(set(draws)) == 3


def test_no_written_file_holds_a_secret():
    made = study.load(ROOT / "config/studies/quickstart.yaml")
    method = next(iter(made.methods.values()))
    curve, other = (Curve(made, datasets.describe("wdbc"), method, s).at((1.0,)) for s in (A, B))
    run = quickstart(A)[0]
    written = [
        *map(repr, (A, run, curve)),
        str(A),
        A.name,
        *curve.digests.values(),
        json.dumps([seeds.public_name(A)]),
    ]
    for text in (A.key.hex(), str(int.from_bytes(A.key, "big")), repr(A.key)):
        assert not [one for one in written if text in one]
    assert not {*curve.digests.values()} & {*other.digests.values()}
    # The name is a hash of all 256 bits with its own prefix.
    assert re.fullmatch(r"secret:[0-9a-f]{64}", A.name)
    assert A.name != B.name


def test_a_public_seed_is_not_for_private_records():
    seeds.check(1, "adult", True)
    seeds.check(A, "patients", False)
    with pytest.raises(
        SeedError,
        match=r"must be secret .*'patients'.*seed: secret.*public_benchmark",
    ):
        seeds.check(1, "patients", False)


def test_the_schema_knows_the_words():
    config = ROOT / "workflow/schemas/config.schema.yaml"
    shipped = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    for good in (1, "secret", "/home/me/mine.seed"):
        schema.check({**shipped, "seed": good}, config, "c")
    for bad in ("secrt", -1, 1.5, "mine.txt"):
        with pytest.raises(schema.SchemaError, match="secret"):
            schema.check({**shipped, "seed": bad}, config, "c")


def test_a_given_path_takes_precedence_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "never"))
    seeds.resolve(str(tmp_path / "mine.seed"), make=True)
    assert not (tmp_path / "never").exists()
    assert os.listdir(tmp_path) == ["mine.seed"]  # noqa: PTH208
