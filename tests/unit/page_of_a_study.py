"""A page of a made-up study, for tests that read it and tests that open it."""

import os
from pathlib import Path

import pandas as pd
from made_up_study import BOOST, lay_out

OUTPUTS = [
    *("accuracy", "selected_settings", {"audit": {"learners": ["one_rule"]}}),
    *({"ledgers": {"epsilons": [1]}}, "leaderboard"),
]
LEARNERS = {
    "boost": BOOST,
    "rule": {"learner": "one_rule", "title": "A rule </script> & more"},
    "free": {"learner": "logistic_regression"},
    "majority": {"learner": "majority_class"},
}


def make_page(folder, outputs=OUTPUTS, epsilons=(0.5, 2, 1)):
    """Make the page and the tables that it reads; give its path."""
    back = Path.cwd()
    os.chdir(folder)
    try:
        plan = lay_out(
            folder,
            datasets=["toy-line", "toy-line-fine"],
            epsilons=[*epsilons],
            learners=LEARNERS,
            outputs=outputs,
        )
        for request in plan.study_outputs("tiny"):
            request.output.make(plan.context(request))
    finally:
        os.chdir(back)
    return folder / "results/tiny/leaderboard.html"


def texts(path):
    """Read a CSV as it is written."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)
