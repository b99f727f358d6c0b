"""Test that statements, ledgers and models of every private learner are as recorded.

The golden file has one line per statement (a digest of its words, and the numbers of its ledger),
and one line per case (``golden_cases.py``): the index of its statement, and numbers that summarise
the model's predictions. If you change results on purpose, increase the learner's `version` in the
registry. Then, or if you change only words, rewrite the file:
``python tests/contract/test_golden_statements.py``.
"""

import hashlib
import itertools
import json
import math
from pathlib import Path

import golden_cases
import pytest

GOLDEN = Path(__file__).with_name("golden_statements.json")

# Numbers of a ledger entry (OF_ENTRY) and of a statement (OF_STATEMENT) that are compared.
OF_ENTRY = ("noise_rate", "sensitivity", "epsilon", "bounded_range", "rho")
OF_STATEMENT = ("epsilon", "delta", "proved_epsilon")

LEDGER_TOLERANCE = 1e-12
MODEL_TOLERANCE = 1e-9


def record(name, rows_of, parameters):
    """Return what is recorded of a case: its statement and results, or the type of its error."""
    try:
        model = golden_cases.fit(name, rows_of, parameters)
    except Exception as error:
        return type(error).__name__
    words, own, entries = parts(model.privacy_)
    words += " ".join(sorted(model.measures_))
    digest = hashlib.sha256(words.encode()).hexdigest()[:12]
    runs = [[len(list(same)), *entry] for entry, same in itertools.groupby(entries)]
    return [[digest, own, runs], *summary(model, rows_of)]


def parts(statement):
    """Return the words of a statement, its numbers, and the numbers of each ledger entry."""
    document = json.loads(statement.to_json())
    own = [rounded(document[key]) for key in OF_STATEMENT]
    entries = [[rounded(entry[key]) for key in OF_ENTRY] for entry in document["ledger"]]
    for part, keys in [(document, OF_STATEMENT), *((e, OF_ENTRY) for e in document["ledger"])]:
        part.update({key: "#" for key in keys if part[key] is not None})
    return json.dumps(document, ensure_ascii=False), own, entries


def rounded(number):
    """Return a number with thirteen digits, so that 1.0 becomes 1; keep other values."""
    if not isinstance(number, (int, float)):
        return number
    short = float(f"{number:.12e}")
    return int(short) if short.is_integer() and abs(short) < 1e12 else short


def summary(model, rows_of):
    """Return the rows predicted as each class, mean and mean square of the scores, and sizes."""
    X = golden_cases.rows(rows_of)[0]
    scores, output = model.decision_function(X), model.predict(X)
    decisions = [int((output == one).sum()) for one in model.classes_]
    moments = [rounded(float(mean)) for mean in (scores.mean(), (scores**2).mean())]
    return decisions, moments, [rounded(size) for _, size in sorted(model.measures_.items())]


def differences(statement, expected):
    """Return the differences between a result and the recorded one, as messages."""
    if isinstance(statement, str) or isinstance(expected, str):
        message = [one if isinstance(one, str) else "a model" for one in (statement, expected)]
        return [] if message[0] == message[1] else [f"gives {message[0]}, not {message[1]}"]
    (words, own, runs), decisions, (mean, square), sizes = statement
    (known_words, known_own, known_runs), known_decisions, known_moments, known_sizes = expected
    known_mean, known_square = known_moments
    spread = math.sqrt(known_square)
    same = {
        "words of the statement, or names of sizes": words == known_words,
        "numbers of the statement": close(own, known_own, LEDGER_TOLERANCE),
        "how many entries the ledger has": counted(runs) == counted(known_runs),
        "numbers of the ledger": close(expanded(runs), expanded(known_runs), LEDGER_TOLERANCE),
        "decisions": decisions == known_decisions,
        "the mean score": abs(mean - known_mean) <= MODEL_TOLERANCE * spread,
        "the mean square of scores": near(square, known_square, MODEL_TOLERANCE),
        "sizes": close(sizes, known_sizes, MODEL_TOLERANCE),
    }
    return [f"other: {what}" for what, holds in same.items() if not holds]


def expanded(runs):
    return [number for times, *entry in runs for number in entry * times]


def counted(runs):
    return sum(times for times, *_ in runs)


def close(statement, expected, tolerance):
    pairs = itertools.zip_longest(statement, expected)
    return all(near(one, other, tolerance) for one, other in pairs)


def near(one, expected, tolerance):
    if isinstance(one, (int, float)) and isinstance(expected, (int, float)):
        return math.isclose(one, expected, rel_tol=tolerance)
    return one == expected


def recorded(name):
    """Return the records of a learner's cases in the golden file, by label."""
    golden = json.loads(GOLDEN.read_text())
    assert name in golden, f"run python {Path(__file__).name} to add {name}"
    statements = golden[name]["statements"]
    return {
        label: case if isinstance(case, str) else [statements[case[0]], *case[1:]]
        for label, case in golden[name]["cases"].items()
    }


# Learners whose cases take seconds; `test_golden.py` has quick fits of these learners.
LONG = ("distributed_topdown", "tuned")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in golden_cases.NAMES]
)
def test_statements_ledgers_and_models_are_as_recorded(name):
    expected = recorded(name)
    cases = {label: case for label, *case in golden_cases.cases(name)}
    assert cases.keys() == expected.keys()
    faults = {
        label: differences(record(name, *case), expected[label]) for label, case in cases.items()
    }
    changed = [f"{label}: {'; '.join(fault)}" for label, fault in faults.items() if fault]
    assert not changed, f"{name}: {len(changed)} of {len(cases)} cases\n" + "\n".join(changed)


def test_a_difference_is_seen():
    name = "noisy_bayes"
    label, *case = next(golden_cases.cases(name))
    expected = recorded(name)[label]
    assert differences(record(name, *case), expected) == []
    [digest, own, runs], decisions, [mean, square], sizes = expected
    times, rate, *others = runs[0]
    rest = (decisions, [mean, square], sizes)
    for statement, fault in (
        ([["0" * 12, own, runs], *rest], "words of the statement"),
        (
            [[digest, own, [[times, rate * (1 + 1e-11), *others], *runs[1:]]], *rest],
            "of the ledger",
        ),
        ([[digest, own, [*runs, runs[-1]]], *rest], "how many entries"),
        ([[digest, [2, *own[1:]], runs], *rest], "numbers of the statement"),
        ([expected[0], decisions, [mean, square * (1 + 1e-8)], sizes], "the mean square"),
        ([expected[0], decisions[::-1], [mean, square], sizes], "decisions"),
        ("ValueError", "gives ValueError, not a model"),
    ):
        assert fault in " ".join(differences(statement, expected))


def written():
    """Return the content of the golden file: one line per statement, and one line per case."""
    learners = []
    for name in golden_cases.NAMES:
        statements, lines = {}, []
        for label, *case in golden_cases.cases(name):
            statement = record(name, *case)
            if not isinstance(statement, str):
                statement[0] = statements.setdefault(compact(statement[0]), len(statements))
            lines.append(f"{compact(label)}:{compact(statement)}")
        parts_of = '"statements":[\n{}\n],\n"cases":{{\n{}\n}}'
        text = parts_of.format(",\n".join(statements), ",\n".join(lines))
        learners.append(f"{compact(name)}:{{{text}}}")
    return "{\n" + ",\n".join(learners) + "\n}\n"


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    GOLDEN.write_text(written())
