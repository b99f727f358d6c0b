"""The bytes of an output are tied to its version.

If a change of code changes the bytes, files of earlier runs are out of date, and only the version
tells the workflow so: increase `version` of the output's class, then rewrite the golden file with
``python tests/unit/test_golden_outputs.py``.
"""

import hashlib
import json
import tempfile
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import pytest
from made_up_study import (
    ADDITIVE_STUDY,
    ALL_SETTINGS_STUDY,
    ENCODING_COST_STUDY,
    THRESHOLD_STUDY,
    TWO_DATASETS_STUDY,
    TWO_ENCODINGS_STUDY,
    write_made_up_study,
)
from matplotlib.figure import Figure

from privcurve.figures import style
from privcurve.learners import registry
from privcurve.outputs.registry import OUTPUTS

GOLDEN = Path(__file__).with_name("golden_outputs.json")

EMPTY = Figure(figsize=(1, 1))

# These outputs train, so their bytes depend on the learner's version too.
TRAINED = {
    **dict.fromkeys(("model_card", "rademacher", "advantage_and_margins", "printed"), "lazybb"),
    **dict.fromkeys(("thresholds", "flipped_labels"), "brc"),
    "shapes": "privgam",
}


def version(word):
    own = [OUTPUTS[word].version]
    return [*own, registry.entry(TRAINED[word]).version] if word in TRAINED else own


def make_all(folder):
    """Make every output of the made-up studies; return the digest of each."""
    sums = {}
    # If several studies have an output, the last one counts.
    for number, changes in enumerate(
        (
            ENCODING_COST_STUDY,
            {},
            THRESHOLD_STUDY,
            ADDITIVE_STUDY,
            TWO_DATASETS_STUDY,
            TWO_ENCODINGS_STUDY,
            ALL_SETTINGS_STUDY,
        )
    ):
        (folder / str(number)).mkdir()
        sums |= make_study(folder / str(number), changes)
    return sums


def make_study(folder, changes):
    drawn, sums = {}, {}
    save = style.save

    def see(figure, frame, stem, notes):
        drawn[stem] = described(figure)
        save(EMPTY, frame, stem)  # pixels are not compared

    with chdir(folder), patch.object(style, "save", see):
        plan = write_made_up_study(folder, **changes)
        # Outputs that other outputs read come first.
        for request in sorted(plan.study_outputs("tiny"), key=lambda one: len(one.reads.outputs)):
            request.output.make(plan.context(request))
            sums[request.output.word] = digest(request, drawn)
    return sums


def digest(request, drawn):
    """Return the digest of an output's tables and of the contents of its figures."""
    endings = (".csv", ".md", ".tex", ".html")
    parts = [path.read_bytes() for path in request.files.all if path.suffix in endings]
    parts += [json.dumps(drawn[stem]).encode() for stem in request.files.figures]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def described(figure):
    """Return the contents of a figure, independent of the machine's fonts."""
    return [
        [
            *(panel.get_title(), panel.get_xlabel(), panel.get_ylabel()),
            [
                [line.get_label(), line.get_color(), str(line.get_marker()), line.get_linestyle()]
                + [[f"{value:.6g}" for value in axis] for axis in line.get_data()]
                for line in panel.get_lines()
            ],
            len(panel.patches),
            [text.get_text() for text in panel.get_legend().texts] if panel.get_legend() else [],
        ]
        for panel in figure.axes
    ] + [[text.get_text() for legend in figure.legends for text in legend.texts]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def digests(folder):
    return make_all(folder)


def test_tables_explain_the_number_after_plus_minus(digests, folder):
    for path in folder.rglob("tables/**/*.md"):
        rows, _, notes = path.read_text().partition("\n\n- ")
        assert "±" not in rows or "±" in notes, path


@pytest.mark.parametrize("word", sorted(OUTPUTS))
def test_bytes_change_only_with_the_version(word, digests):
    golden = json.loads(GOLDEN.read_text())
    assert word in golden, f"run python {Path(__file__).name} to add {word}"
    assert golden[word]["version"] == version(word), (
        f"the version of {word}, or of what it trains, was changed: rewrite the golden file"
    )
    assert digests[word] == golden[word]["digest"], f"{word} writes other bytes: raise its version"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        digests = make_all(Path(folder))
    content = {
        word: {"version": version(word), "digest": digests[word]} for word in sorted(OUTPUTS)
    }
    GOLDEN.write_text(json.dumps(content, indent=1) + "\n")
