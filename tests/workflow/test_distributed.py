"""A study of data holders by the real Snakemake: what they send, and claims of single runs."""

import math

import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.workflow

LEARNERS = {
    "published": {
        "learner": "distributed_topdown",
        "calibrations": ["published"],
        "fixed": {"protocol": "noisy_counts", "criterion": "entropy", "n_splits": 4},
        "grid": {"leaf_share": [0.25, 0.5]},
    },
    "sums": {
        "learner": "distributed_topdown",
        "deltas": [1e-5],
        "fixed": {"protocol": "noisy_counts", "trust": "secure_sum"},
        "vary": {"n_holders": [2, 3]},
    },
    "majority": {"learner": "majority_class"},
}
FIGURE = {
    **{"name": "holders", "x": "epsilon", "scale": "log", "compare": "dataset"},
    **{"panels": ["dataset", "method"], "lines": ["n_holders", "leaf_share"]},
    **{"levels": ["majority"]},
}
CLAIM = {
    **{
        "claim": "A tree is better than the majority",
        "quote": "better",
        "source": "§1",
        "study": "tiny",
    },
    **{"table": "runs", "each": ["n_holders"], "statistic": "mean", "over": ["epsilon"]},
    **{"where": {"method": "sums", "epsilon": [1, 100]}, "by": ["dataset", "n_holders", "epsilon"]},
    **{"less": {"method": "majority"}, "less_by": ["dataset", "epsilon"], "above": 0},
}


@pytest.mark.slow
def test_messages_levels_and_claims_of_runs(project):
    paper = project.folder / "papers/tiny"
    paper.mkdir(parents=True)
    claims = {"claims": [{"name": "C1", **CLAIM}]}
    (paper / "claims.yaml").write_text(yaml.safe_dump(claims))
    outputs = [{"sweep": FIGURE}, "communication", "claims"]
    changes = {"paper": "tiny", "select": "all", "epsilons": [1, 100, math.inf]}
    project.write_study(**changes, learners=LEARNERS, outputs=outputs, repeats=3)
    project.run("tiny")
    results = project.folder / "results"

    drawn = pd.read_csv(results / "figures/holders.csv")
    assert set(drawn["method"]) == {"published", "sums", "majority"}
    assert len(drawn) == 3 * 4 + 1

    sent = pd.read_csv(results / "tables/tiny/communication.csv")
    assert sent["method"].tolist() == ["published"] * 2 + ["sums"] * 2
    of_sums = sent[sent["method"] == "sums"].set_index("n_holders")
    assert (of_sums["bytes_per_holder"] > 0).all()
    each = of_sums["bytes_per_holder"] + of_sums["bytes_down_per_holder"]
    assert of_sums["bytes_total"].tolist() == pytest.approx((each * of_sums.index).tolist())

    verdicts = pd.read_csv(results / "tables/tiny/claims.csv")
    assert verdicts["name"].tolist() == ["C1, 2", "C1, 3"]
    assert (verdicts["standard_error"] > 0).all()
    assert verdicts["verdict"].tolist() == ["holds"] * 2
