"""A page of a made-up study, for tests that read it and tests that open it."""

from contextlib import chdir

import pandas as pd
from made_up_study import BOOST, write_made_up_study

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


def make_leaderboard_page(folder, epsilons=(0.5, 2, 1)):
    """Write the page and the tables that it reads; return its path."""
    words = {"datasets": ["toy-line", "toy-line-fine"], "epsilons": [*epsilons]}
    with chdir(folder):
        plan = write_made_up_study(folder, **words, learners=LEARNERS, outputs=OUTPUTS)
        for request in plan.study_outputs("tiny"):
            request.output.make(plan.context(request))
    return folder / "results/tiny/leaderboard.html"


def csv_texts(path):
    """Return the cells of a CSV file as texts."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)
