"""Print digests of all stored numbers: ``python tests/contract/everywhere.py``.

The numbers come from fits of each private learner, calibrations, noise, encoding, folds, made-up
data and scores. The digests are the same on every machine (``test_same_everywhere.py``). Models
that other libraries fit may differ a little, so their scores are printed as numbers.
"""

import hashlib
import json

import golden_cases
import numpy as np
from made_learners import domain_of, small_problem

from privcurve import binning, coding, datasets
from privcurve.analysis import measures
from privcurve.experiments import splits
from privcurve.learners.additive.decoder import Answers, Decoder, load
from privcurve.learners.registry import estimator_class
from privcurve.models.document import _encode_attributes
from privcurve.privacy import draws, seeds
from privcurve.privacy.account import DoorError
from privcurve.privacy.accountants.compose import ACCOUNTANTS
from privcurve.privacy.accountants.cost import Cost
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.selection import selection_budget

# Models that other libraries fit, whose bits differ among machines. All other results are exact.
OTHERS_TREES = ("mst", "aim")
OTHERS_MODELS = ("gradient_boosting", "logistic_regression of three classes")


def digest(*values):
    """Return sixteen hex digits of a hash of the values: bytes of arrays, repr of others."""
    text = hashlib.sha256()
    for value in values:
        array = isinstance(value, np.ndarray)
        text.update(np.ascontiguousarray(value).tobytes() if array else repr(value).encode())
    return text.hexdigest()[:16]


def fits():
    """Yield, for some cases of each learner, a name and the digest of the fitted model.

    The digest covers the ledger, the model, scores and probabilities.
    """
    for name in golden_cases.NAMES:
        for label, kind, parameters in few(list(golden_cases.cases(name))):
            try:
                result = fit(name, kind, parameters)
            except (TypeError, ValueError, DoorError) as error:
                # A case that one machine refuses is refused on every machine.
                result = type(error).__name__
            yield f"{name} {label}", result


def few(cases):
    """Return some of the cases: one proved case for each kind of rows and δ, and some others."""
    budgets = {}
    for case in cases:
        _, kind, result = case
        if result["calibration"] == "proved" and result["epsilon"] == 1:
            budgets.setdefault((kind, result["delta"]), case)
    return [*budgets.values(), *cases[:: max(7, len(cases) // 3)]]


def fit(name, kind, parameters):
    model = golden_cases.fit(name, kind, parameters)
    X = golden_cases.rows(kind)[0]
    statement = model.privacy_.to_json()
    if name in OTHERS_TREES:
        # The choices of tables or edges in these attributes are this project's, and so exact;
        # scikit-learn grows the trees.
        chosen = [getattr(model, part, None) for part in ("edges_", "chosen_")]
        return digest(statement, *chosen)
    outcome = [statement, model.decision_function(X), sorted(model.measures_.items())]
    if hasattr(model, "predict_proba"):
        outcome.append(model.predict_proba(X))
    if model._model_to_save()._released:
        outcome.append(
            json.dumps(_encode_attributes(model._model_to_save()._as_fitted()), default=repr)
        )
    return digest(*outcome)


def calibrations():
    mixed = Cost("bounded_range", 0.3, 20), Cost("gaussian", 0.2, 10)
    for one in ACCOUNTANTS:
        for costs in ((mixed[0],), (mixed[1],), mixed):
            if one.admits(costs, 1e-6):
                yield f"{one.name} {costs}", calibrate(costs, 1.0, 1e-6, (one.name,)).scale
    for delta in (0.0, 1e-6):
        yield f"selection {delta}", selection_budget(1.0, delta, 0.5, 10.0, 0.1)


def noise():
    streams = {"public": np.random.default_rng(1), "secret": seeds.stream(bytes(32))}
    for kind, stream in streams.items():
        for law in ("laplace", "gumbel", "logistic", "exponential", "normal"):
            yield f"{kind} {law}", digest(getattr(draws, law)(stream, 20_000))
        for shape in (0.3, 4.0):
            yield f"{kind} gamma {shape}", digest(draws.gamma(stream, 20_000, shape))


def network():
    """Yield results of PrivGAM's network: shares of the budget, and scores after five releases."""
    starts, ordered = np.array([0, 64, 65, 71, 80]), (True, True, False, False)
    made, rng = Decoder(starts, ordered, 2, laplace=True), np.random.default_rng(4)
    for k in range(5):
        by_bin = Answers(*(rng.gamma(2, 20, (2, 2, 80)) - 15), (4.0, 7.0))
        made.take(by_bin, Answers(*rng.gamma(2, 400, (2, 2)), (5.0, 6.0)))
        yield f"shares {k}", load().shares_of(12, float(rng.gamma(2, 500)), 4.0)
    yield "scores", digest(made.scores, made.intercepts)


def data():
    for spacing in (binning.EQUAL, binning.LOG, binning.LOG1P, binning.MIXED, binning.MIXED_HIGH):
        yield spacing, digest(binning.edges(0.3, 71.7, 23, spacing))
    numbers = np.random.default_rng(3).normal(size=(500, 3)) * [1, 10, 100]
    n_bins = np.array([8, 16, 32])
    yield "codes", digest(binning.code_equal_width(numbers, (-40.0, 40.0), n_bins))
    yield (
        "scaled",
        digest(coding.scale_codes(small_problem(100)[0], np.array(small_problem(100)[2]))),
    )
    made = datasets.load("toy-line")
    yield "made up", digest(made.X, made.y, made.domain.to_dict())
    yield "domain", digest(domain_of([2, 5, 3, 10]).to_dict())
    stream = splits.partition_generator("toy-line", made.checksum, 5, 0, 1)
    yield "fold", digest(splits.draw_held_out(made.y, 0.2, stream))


def scores():
    rng = np.random.default_rng(5)
    chances = rng.dirichlet(np.ones(3), 500)
    labels, counts = rng.integers(0, 3, 500), rng.integers(1, 5, 500)
    for measure in (measures.accuracy, measures.balanced_accuracy, measures.auc, measures.log_loss):
        yield measure.__name__, measure(chances, labels, counts)


def others():
    """Yield the scores of models that other libraries fit."""
    for name in (*OTHERS_TREES, *OTHERS_MODELS):
        kind = "three" if "three" in name else "two"
        X, y, counts, _ = golden_cases.rows(kind)
        facts = golden_cases.facts_of(name.split()[0], kind)
        rng = np.random.default_rng(7)
        model = estimator_class(name.split()[0])(random_state=rng, **facts).fit(X, y, counts)
        yield name, np.ravel(model.decision_function(X)).tolist()


def everything():
    parts = {"fit": fits(), "budget": calibrations(), "noise": noise(), "data": data()}
    parts |= {"score": scores(), "network": network()}
    exact = {f"{part}: {key}": str(own) for part, pairs in parts.items() for key, own in pairs}
    return {"exact": exact, "near": dict(others())}


if __name__ == "__main__":
    print(json.dumps(everything()))
