"""A study with made-up results, so that outputs have something to read without training.

`MADE_UP_STUDY` has most outputs. The other ``*_STUDY`` mappings change its keys, for outputs that
need other learners or datasets: ``write_made_up_study(tmp_path, **ADDITIVE_STUDY)``.
"""

import hashlib
import itertools
import json
import math
from pathlib import Path

import pandas as pd
import yaml

from privcurve import datasets
from privcurve.experiments import provenance, results, study
from privcurve.outputs.base import request_output
from privcurve.outputs.registry import OUTPUTS
from privcurve.workflow import reading

BOOST = {
    "learner": "lazybb",
    "calibrations": ["proved", "published"],
    "fixed": {"density": 0.5, "learning_rate": 0.5},
    "grid": {"n_rounds": [5, 9]},
}
MAJORITY = {"learner": "majority_class"}
MARGINS = {"learner": "boost", "dataset": "toy-line", "epsilon": 2, "rounds": 40, "runs": 2}
MADE_UP_STUDY = {
    "title": "Made up",
    "paper": "tiny",
    "datasets": ["toy-line"],
    "epsilons": [0.5, 2],
    "folds": 2,
    "repeats": 5,
    "learners": {
        "boost": BOOST,
        "rule": {"learner": "one_rule", "vary": {"mechanism": ["auto", "exponential"]}},
        "majority": MAJORITY,
    },
    "outputs": [
        "accuracy",
        "selected_settings",
        "learning_curves",
        {"sweep": {"x": "mechanism", "learners": ["rule"], "lines": ["epsilon"]}},
        {"boxes": {"x": "epsilon", "learners": ["boost"], "lines": ["entry", "calibration"]}},
        *("claims", "verdict_counts"),
        {"communication": {"epsilon": 2, "learners": ["rule", "boost"]}},
        {"printed": {"learner": "boost"}},
        {"model_card": {"learner": "boost", "dataset": "toy-line", "epsilon": 2}},
        {"sparsity": {"learner": "boost"}},
        {"rademacher": {"learner": "boost", "epsilon": 2, "draws": 20}},
        {"advantage_and_margins": MARGINS},
        {"audit": {"learners": ["one_rule"]}},
        "leaderboard",
        {"ledgers": {"epsilons": [2]}},
    ],
}
_HALF_SPACES = {"n_rounds": 20, "largest": 2, "smallest": 0.5, "intercept": "threshold"}
# For outputs about thresholds on one private column.
THRESHOLD_STUDY = {
    "datasets": ["toy-line-fine"],
    "neighbours": "private-columns",
    "epsilons": [100],
    "learners": {"brc": {"learner": "brc", "calibrations": ["published"], "fixed": _HALF_SPACES}},
    "outputs": [
        {"thresholds": {"learner": "brc", "epsilon": 100, "boundary": 1000}},
        {"flipped_labels": {"learner": "brc", "epsilon": 100, "boundary": 1000, "runs": 2}},
    ],
}
# For outputs about an additive model.
ADDITIVE_STUDY = {
    "learners": {"gam": {"learner": "privgam", "deltas": [0, 1e-5]}},
    "outputs": [{"shapes": {"learner": "gam", "epsilon": 2, "delta": 1e-5}}],
}
# For outputs about the cost of encoding.
ENCODING_COST_STUDY = {
    "learners": {"rule": {"learner": "one_rule"}, "free": {"learner": "logistic_regression"}},
    "outputs": ["accuracy", "raw", "price"],
}
# Two datasets, for outputs with ranks.
TWO_DATASETS_STUDY = {
    "datasets": ["toy-line", "toy-line-fine"],
    "learners": {"boost": BOOST, "rule": {"learner": "one_rule"}, "majority": MAJORITY},
    "outputs": [
        "runs",
        "checks",
        "arena",
        "error_table",
        "mean_ranks",
        {"comparison": {"method": "boost~proved"}},
    ],
}
# All settings of boosted ensembles and forests, without selection.
_OC = {"calibrate_alpha": "exact", "alpha": 1, "boost_alpha": 1}
_LOW = {"alpha": 0.1, "boost_alpha": 0.1}
_BOOSTED = {"learner": "bdpe", "calibrations": ["published"]}
_SIZES = {"n_trees": [2, 20], "depth": [2, 4]}
_FOREST = {"learner": "dp_forest", "calibrations": ["published"], "fixed": {"n_trees": 21}}
ALL_SETTINGS_STUDY = {
    "splits": {"folds": 3},
    "select": "all",
    "folds": None,
    "repeats": None,
    "learners": {
        "oc": {**_BOOSTED, "fixed": _OC, "grid": {**_SIZES, "tree_share": [0.1, 0.9]}},
        "low": {**_BOOSTED, "fixed": _LOW, "grid": {**_SIZES, "tree_share": [0.1, 0.9]}},
        "constant": {**_BOOSTED, "fixed": {**_OC, "leverage": "constant"}, "grid": _SIZES},
        "free": {**_BOOSTED, "epsilons": [float("inf")], "fixed": _OC, "grid": _SIZES},
        "forest": {**_FOREST, "grid": {"depth": [2, 4]}},
    },
    "outputs": [
        *("ensemble_errors", "ensemble_least", "ensemble_alphas", "ensemble_sizes"),
        *("ensemble_domains", "ensemble_wins", "ensemble_wins_overall"),
        *("error_shares", "error_profiles", "m_alpha_curves"),
    ],
}
# The same records in few and in many bins.
TWO_ENCODINGS_STUDY = {
    **ALL_SETTINGS_STUDY,
    "datasets": ["toy-line", "toy-line-fine"],
    "outputs": ["ensemble_errors", {"bin_profiles": {"pairs": {"toy-line": "toy-line-fine"}}}],
}
MESSAGES = (
    '{"bytes_down_per_holder":8,"bytes_per_holder":40,"bytes_total":80,"messages":4,"rounds":2}'
)
PRINTED = {
    "sparsity": "table,dataset,epsilon,features_mean,features_std,features_percent\n"
    "1,toy-line,2,3.0,0.500,10.00\n",
    "settings": "table,dataset,epsilon,density,learning_rate,n_rounds\n2,toy-line,2,0.5,0.5,9\n",
    "rademacher": "table,dataset,epsilon,bound,accuracy\n3,toy-line,2,0.37,0.83\n",
    "table1_best_alpha_by_epsilon": "epsilon,alpha,n_domains_best\n2,O.C.,1\n2,0.1,0\n",
    "table2_domains": "domain,n_records,n_features\ntoy-line,2000,1\n",
    "table3_best_depth_and_trees": "depth,n_trees,domain\nsmall,big,toy-line\n",
    "table4_wins_against_forests": "domain,depth,n_trees,forest,alpha,percent_wins\n"
    "toy-line,2,20,RF-L,O.C.,75\n",
    "table4_overall": "n_trees,forest,alpha,percent_wins\n20,RF-L,O.C.,82\n",
}
CLAIM = {"name": "C1", "claim": "Boosting helps", "quote": "helps", "source": "§1", "study": "tiny"}
CLAIMS = {
    "claims": [
        {**CLAIM, "where": {"method": "boost~proved"}, "less": {"method": "majority"}, "above": 0}
    ]
}


def write_made_up_study(folder, **changes):
    """Write the study and all files that its outputs read into a folder; return its plan.

    The files are the encoded data, made-up runs of all jobs, printed numbers, claims and an audit
    table. A change to None removes a key of `MADE_UP_STUDY`.
    """
    path = folder / "config/studies/tiny.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        key: value for key, value in {**MADE_UP_STUDY, **changes}.items() if value is not None
    }
    path.write_text(yaml.safe_dump(content))
    paper = folder / "papers/tiny"
    (paper / "printed").mkdir(parents=True, exist_ok=True)
    for name, text in PRINTED.items():
        (paper / f"printed/{name}.csv").write_text(text)
    (paper / "claims.yaml").write_text(yaml.safe_dump(CLAIMS))
    made = reading.read_one(Path("config/studies/tiny.yaml"), 1, 30)
    for name in made.studies["tiny"].datasets:
        datasets.save(datasets.load(name), folder / "results/data" / name)
    for job in made.jobs("tiny").jobs.values():
        write_made_up_runs(job)
    write_audit_table(folder / "results/audit/one_rule.csv")
    return made


def output_request(word, options=None, **changes):
    """Return the request of one output of the study; raise the error of a wrong option.

    ``output_request("sparsity", {"learner": "boost"})``. A change to None removes a key.
    """
    raw = {key: value for key, value in {**MADE_UP_STUDY, **changes}.items() if value is not None}
    one = study.from_mapping(raw, "tiny", "tiny.yaml")
    return request_output(OUTPUTS, one, word, options or {}, "tiny")


def write_made_up_runs(job):
    """Write made-up runs of a job: grids, selections and fresh trainings."""
    tables, facts = [], []
    for curve, name in job.runs:
        method, tasks, more = curve.method, curve.tasks, {}
        if curve.is_fresh(name):
            chosen = [point for point in method.points if point.setting == method.settings[-1]]
            tasks = list(itertools.product(chosen, curve.study.fresh_splits(False)))
            scores = {"cv_accuracy": 0.8, "cv_std": 0.01, "status": "ok", "error": None}
            counts = {"n_settings": len(method.settings), "n_failed_settings": 0}
            selected = [
                {
                    **curve_columns(curve),
                    "epsilon": p.epsilon,
                    **counts,
                    "setting": p.text,
                    **scores,
                }
                for p in chosen
            ]
            more = {"selected": pd.DataFrame(selected).to_csv(index=False)}
        tables.append(results.table([made_up_run(curve, *task) for task in tasks]))
        names = {"name": name, "digest": job.digests[name], "checksum": curve.checksum}
        work = {"trained": len(tasks), "reused": 0, "failed": 0, "training_seconds": 1.0}
        code = {method.learner: {provenance.checksum(method.learner): len(tasks)}}
        facts.append({**names, **work, "job_seconds": 2.0, "code": code, **more})
    results.write(job.file, tables, facts)


def curve_columns(curve):
    """Return the columns that identify the rows of a curve, except ε."""
    method = curve.method
    names = {"dataset": curve.dataset.name, "method": method.name, "learner": method.learner}
    return {**names, "calibration": method.calibration, "delta": method.delta}


def made_up_run(curve, point, split):
    """Return one run, whose scores follow from a hash of its method, setting and split."""
    method = curve.method
    name = f"{method.name} {point.epsilon} {point.text} {split.fold} {split.repeat}"
    number = int(hashlib.sha256(name.encode()).hexdigest()[:4], 16) / 2**16
    sizes = {"n_leaves": round(9 * number), "expected_depth": 2 + number}
    return {
        "id": name,
        **curve_columns(curve),
        "epsilon": point.epsilon,
        **{"setting": point.text, "fold": split.fold, "repeat": split.repeat, "status": "ok"},
        **{"accuracy": 0.7 + number / 10, "balanced_accuracy": 0.7, "auc": 0.75, "log_loss": 0.5},
        **{"n_features_used": round(9 * number), "version": 1},
        # Only one_rule has communication measures.
        "measures": MESSAGES if method.learner == "one_rule" else json.dumps(sizes),
    }


def write_audit_table(path):
    """Write an audit table with one claim that holds, and one violated case that is not claimed."""
    from privcurve.audit.run import COLUMNS

    holds = {
        **{"learner": "one_rule", "calibration": "proved", "mechanism": "exponential"},
        **{"neighbours": "replace-one", "stated_neighbours": "replace-one", "setting": "{}"},
        **{"method": "exact", "dataset": "tiny"},
        **{"n_records": 3, "n_pairs": 8, "pair": "a pair", "n_trainings": 0},
        **{"refutable_epsilon": math.inf, "epsilon": 1.0},
        **{"delta": 0.0, "found_epsilon": 0.9, "found_delta": 0.0, "verdict": "stands"},
        **{"not_covered": "", "event": ""},
    }
    # The learner does not claim add-remove.
    not_claimed = {**holds, "neighbours": "add-remove", "found_epsilon": 3.0, "verdict": "violated"}
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([holds, not_claimed], columns=list(COLUMNS)).to_csv(path, index=False)
