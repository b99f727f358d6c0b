"""The checksum of the code that trains a run: changes that count, and changes that do not."""

import inspect
import itertools
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_study import study_with

from privcurve import datasets, sources
from privcurve.audit import contract
from privcurve.audit.contract_cases import CASES
from privcurve.experiments import provenance
from privcurve.experiments.provenance import SELECTION, Stamps, add_up, checksum
from privcurve.experiments.splits import fold_splits
from privcurve.experiments.train import Trainer
from privcurve.learners import own, registry
from privcurve.own import module
from privcurve.privacy.curator import Curator

SOURCE = sources.PACKAGE
OWN = Path(__file__).parents[1] / "workflow/paper/noisy_label.py"
LEARNERS = ("privgam", "lazybb", "majority_class", SELECTION)
GAM, BOOST, FREE, SELECTING = ({name} for name in LEARNERS)
ALL = GAM | BOOST | FREE


def forget():
    """Clear the caches of a process."""
    for one in (sources._path_of, sources._source_of, sources._read_kept, provenance._compute):
        one.cache_clear()


@pytest.fixture(scope="module")
def copy_of_package(tmp_path_factory):
    copy = tmp_path_factory.mktemp("src") / "privcurve"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if sources._KEPT.exists():
        shutil.copy(sources._KEPT, copy.parent / "sources.json")
    return copy


@pytest.fixture
def edit(copy_of_package, monkeypatch):
    """Return a function that edits a copy of the package and computes its checksums."""
    monkeypatch.setattr(sources, "PACKAGE", copy_of_package)
    monkeypatch.setattr(sources, "_KEPT", copy_of_package.parent / "sources.json")
    before = {}

    def replace_or_add(file, old="", new="\nONE = 1\n"):
        path = copy_of_package / file
        text = before.setdefault(path, path.read_text("utf-8"))
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else text + new, "utf-8")
        forget()

    forget()
    yield replace_or_add
    for path, text in before.items():
        path.write_text(text, "utf-8")
    monkeypatch.undo()
    forget()


def checksums():
    forget()
    return {name: checksum(name) for name in LEARNERS}


RULE, BINS = "learners/additive/rule.py", "LEAST_BINS, BINS_PER_ROOT = 8, 3.0"


@pytest.mark.parametrize(
    ("file", "change", "changed"),
    [
        (RULE, (BINS, "LEAST_BINS, BINS_PER_ROOT = 9, 3.0"), GAM),
        ("learners/lazybb.py", (), BOOST),
        ("kernels/privgam.py", (), GAM),
        # The module is looked up at the first use.
        ("kernels/arithmetic.py", (), ALL),
        # The module is imported inside functions.
        ("privacy/discrete.py", (), ALL),
        ("learners/base.py", (), ALL),
        ("experiments/metrics.py", ("AT_ONCE = 65_536", "AT_ONCE = 65_535"), ALL),
        ("experiments/splits.py", (), ALL),
        ("datasets/rows.py", (), ALL),
        ("analysis/selection.py", ("TIE_DIGITS = 12", "TIE_DIGITS = 9"), SELECTING),
        ("experiments/work.py", (), SELECTING),
    ],
)
def test_changed_code_changes_the_checksums_of_its_users(edit, file, change, changed):
    before = checksums()
    edit(file, *change)
    after = checksums()
    assert {name for name in LEARNERS if after[name] != before[name]} == changed


def test_comments_docstrings_layout_and_code_that_trains_nothing_change_no_checksum(edit):
    before = checksums()
    edit(RULE, BINS, "LEAST_BINS, BINS_PER_ROOT = (  # of a column\n    8,\n    3.0,\n)")
    edit("learners/base.py", '"""', '"""Another docstring. ')
    for file in (
        *("figures/style.py", "tables/table.py", "outputs/accuracy.py", "workflow/plan.py"),
        *("datasets/load.py", "datasets/reading/delimited.py", "errors.py", "files.py"),
        *("learners/entries/private.py", "learners/tuned.py", "experiments/store.py"),
        *("experiments/provenance.py", "audit/contract.py", "cli/compare.py", "__init__.py"),
    ):
        edit(file)
    assert checksums() == before


@pytest.mark.usefixtures("edit")
def test_cached_facts_give_the_same_checksums():
    forget()
    first = checksum(SELECTION)
    kept = sources._KEPT.read_text()
    for content in (kept, "{", '{"by": 1, "modules": []}', kept.replace('"privcurve.', '"')):
        sources._KEPT.write_text(content)
        forget()
        assert checksum(SELECTION) == first


def test_an_entrys_facts_count_only_if_a_fit_depends_on_them(monkeypatch):
    before, entry = checksum("privgam"), registry.LEARNERS["privgam"]
    changes = (
        {"title": "Another"},
        {"version": 99},
        {"multiclass": False},
        {"needs": ("ordered",)},
    )
    after = []
    for change in changes:
        entries = {**registry.LEARNERS, "privgam": replace(entry, **change)}
        monkeypatch.setattr(registry, "LEARNERS", entries)
        provenance._compute.cache_clear()
        after.append(checksum("privgam") == before)
    assert after == [True, True, False, False]
    monkeypatch.undo()
    provenance._compute.cache_clear()


def test_all_named_files_exist():
    """A moved module is left out, or counted, under its new name."""
    named = {*provenance.LEFT_OUT, *provenance.COUNTS, *provenance.SELECTING, provenance.TRAINING}
    assert [name for name in named if sources._path_of(name) is None] == []
    with pytest.raises(ValueError, match=r"there is no module privcurve\.nowhere"):
        sources.reachable(["privcurve.nowhere"], [], bool)
    assert len({checksum(name) for name in registry.LEARNERS}) == len(registry.LEARNERS)


def test_a_selecting_learner_includes_the_code_of_its_candidates(edit):
    grid = {"tune": {"grid": {"n_rounds": [5, 9]}}}
    made = study_with({"a": {"learner": "lazybb", **grid}, "b": {"learner": "lazybb"}})
    tuned, plain = made.methods.values()
    assert tuned.learners(tuned.settings[0]) == "lazybb+tuned"
    assert tuned.all_learners == {"lazybb+tuned"}
    assert plain.learners(plain.settings[0]) == "lazybb"
    before = checksum("lazybb+tuned")
    edit("learners/one_rule.py")
    assert checksum("lazybb+tuned") != before


@pytest.mark.parametrize(
    "line",
    [
        "from privcurve.learners.lazybb import LazyBBClassifier",
        "from privcurve import LazyBBClassifier",
        "import privcurve\n\n\ndef later():\n    return privcurve.LazyBBClassifier",
        "def later():\n    from privcurve.learners import registry\n\n"
        "    return registry.make('lazybb', None)",
        "from ._beside import boosted",
    ],
)
def test_code_that_a_users_learner_imports_counts(edit, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "learners"
    folder.mkdir()
    (folder / "noisy_label.py").write_text(f"{OWN.read_text()}\n\n{line}\n")
    beside = folder / "_beside.py"
    beside.write_text("from privcurve.learners.lazybb import LazyBBClassifier as boosted\n")
    seen = []
    for file in ("figures/style.py", "learners/lazybb.py", "kernels/lazybb_rules.py"):
        module.cache_clear()
        for name in [name for name in sys.modules if name.startswith(f"{own.PACKAGE}.")]:
            del sys.modules[name]
        forget()
        before = checksum("noisy_label")
        edit(file)
        seen.append(checksum("noisy_label") != before)
    assert seen == [False, True, True]
    before = checksum("noisy_label")
    beside.write_text("boosted = 1\n")
    forget()
    assert (checksum("noisy_label") != before) == ("_beside" in line)


def functions_in(call):
    """Return the files of this package whose functions a call runs."""
    codes = set()

    def see(frame, event, argument):
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            codes.add(frame.f_code)

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    paths = {Path(code.co_filename) for code in codes}
    return {path for path in paths if path.is_relative_to(SOURCE)}


def files_of(learner):
    """Return the files that the checksum of a learner covers."""
    modules = {provenance.TRAINING, *provenance.COUNTS}
    modules.add(registry.entry(learner).path.partition(":")[0])
    return set(map(sources._path_of, sources.reachable(modules, [], provenance._follows)))


@pytest.mark.slow
@pytest.mark.parametrize("learner", sorted({case.learner for case in CASES} - {"tuned"}))
def test_checksums_cover_all_code_that_a_fit_runs(learner):
    """Imports are read from source; a fit may reach other code by a name in a string."""
    reached = set()
    for case in (case for case in CASES if case.learner == learner):
        side = case.table(case.universe * (1 if learner == "pate" else 9))

        def fit(case=case, side=side):
            model = contract.train(case, side, Curator(np.random.default_rng(0)))
            model.score_codes(side.codes)

        try:
            fit()
        except ValueError:  # too many records for the case
            continue
        reached |= functions_in(fit)
    assert reached or learner == "pate"
    others = {path for path in reached - files_of(learner) if "audit" not in path.parts}
    assert others == set()


def test_checksums_cover_all_code_that_trains_and_scores_a_run(tmp_path):
    data = datasets.load("toy-line")
    method = study_with({"gam": {"learner": "privgam"}}).methods["gam~proved"]
    tasks = list(itertools.product(method.points[:1], fold_splits(3)[:1]))
    Trainer(data, method, 1, tmp_path / "first").run(tasks)
    reached = functions_in(lambda: Trainer(data, method, 1, tmp_path / "second").run(tasks))
    others = {str(path.relative_to(SOURCE)) for path in reached - files_of("privgam")}
    assert others <= {
        *("experiments/store.py", "experiments/provenance.py", "files.py", "sources.py"),
        # Estimate of the duration of a fit.
        *("learners/entries/costs.py", "learners/entries/private.py"),
    }


# Stored runs that count ---------------------------------------------------------------------


@pytest.fixture
def code(monkeypatch):
    """Set the checksum of the present code."""

    def be(letter):
        monkeypatch.setattr(provenance, "_compute", lambda learners, folder: letter * 12)

    be("a")
    return be


def test_checksums_with_the_same_bits_are_linked(tmp_path, code):
    stamps = Stamps(tmp_path)
    assert stamps.is_current("privgam", "a" * 12)
    assert not stamps.is_current("privgam", "b" * 12)
    stamps.stamp("privgam", "b" * 12)
    assert stamps.is_current("privgam", "b" * 12)
    # The links hold in both directions, over several steps, and for other processes.
    code("b")
    assert Stamps(tmp_path).is_current("privgam", "a" * 12)
    code("c")
    assert not Stamps(tmp_path).is_current("privgam", "b" * 12)
    Stamps(tmp_path).stamp("privgam", "a" * 12)
    assert all(Stamps(tmp_path).is_current("privgam", 12 * one) for one in "abc")
    assert not Stamps(tmp_path).is_current("privgam", "d" * 12)
    # A file that cannot be read links nothing.
    (tmp_path / "same_code.json").write_text("{")
    assert not Stamps(tmp_path).is_current("privgam", "b" * 12)
    (tmp_path / "same_code.json").write_text(f'{{"{"a" * 12}": "{"b" * 12}", "{"b" * 12}": "a"}}')
    assert not Stamps(tmp_path).is_current("privgam", "d" * 12)


def test_runs_without_a_checksum_count_as_unknown_once(tmp_path, code):
    trained = {"privgam": {"": 3, "b" * 12: 2}, "lazybb": {"": 0}}
    stamps = Stamps(tmp_path)
    assert stamps.count_unknown(trained) == {"privgam": 3}
    assert stamps.count_others(trained) == {"privgam": (2, 5)}
    stamps.adopt(["privgam"])
    assert stamps.count_unknown(trained) == {}
    assert stamps.count_others(trained) == {"privgam": (2, 5)}
    code("c")
    assert Stamps(tmp_path).count_others(trained) == {"privgam": (5, 5)}
    Stamps(tmp_path).stamp("privgam", "")
    assert Stamps(tmp_path).count_others(trained) == {"privgam": (2, 5)}


def test_runs_are_added_up_by_their_code():
    parts = [{"a": {"x": 1}}, {"a": {"x": 2, "y": 1}, "b": {"x": 1}}]
    assert add_up(parts) == {"a": {"x": 3, "y": 1}, "b": {"x": 1}}
    assert parts[0] == {"a": {"x": 1}}


def test_runs_of_other_code_are_used_and_counted_or_trained_again(tmp_path, code):
    method = study_with({"m": {"learner": "noisy_majority"}}).methods["m~proved"]
    data, splits = datasets.load("toy-line"), fold_splits(3)

    def run(n_splits, **terms):
        trainer = Trainer(data, method, 1, tmp_path, **terms)
        trainer.run(list(itertools.product(method.points[:1], splits[:n_splits])))
        return (trainer.n_trained, trainer.n_reused), trainer.trained["noisy_majority"]

    a, b = "a" * 12, "b" * 12
    assert run(1) == ((1, 0), {a: 1})
    code("b")
    assert run(2) == ((1, 1), {a: 1, b: 1})
    assert run(2, fresh=True) == ((1, 1), {b: 2})
    # Runs of the present code come first, at any position in the store.
    assert run(2) == ((0, 2), {b: 2})
    assert run(2, fresh=True) == ((0, 2), {b: 2})
    code("a")
    assert run(1) == ((0, 1), {a: 1})
    text = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert re.findall(r'"code":"(\w+)"', text).count(b) == 2
