"""What a refit, a setting or a number of NumPy may change, and what not."""

import json

import numpy as np
import pandas as pd
import pytest

from privcurve import Schema, models
from privcurve.learners import NoisyBayesClassifier, PrivGAMClassifier
from privcurve.models.errors import ModelError

RNG = np.random.default_rng(5)
X = RNG.random((200, 3))
Y = (X[:, 0] > 0.5).astype(int)
FACTS = {"n_bins": 10, "bounds": (0, 1), "classes": (0, 1)}


def test_a_refit_that_fails_leaves_the_former_fit():
    model = PrivGAMClassifier(epsilon=5, random_state=1, **FACTS).fit(X, Y)
    scores, statement = model.decision_function(X), model.privacy_
    model.set_params(n_bins=4)
    with pytest.raises(ValueError, match="y holds the label"):
        model.fit(X, np.full(len(X), 7))
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert model.privacy_ == statement


@pytest.mark.parametrize("name", ["n_bins", "bounds", "classes", "schema", "mixed_bins"])
def test_settings_of_one_training_share_how_the_data_are_read(name):
    model = PrivGAMClassifier(**FACTS)
    with pytest.raises(ValueError, match=f"all settings share {name}: set it on the learner"):
        model.fit_many(X, Y, [{}, {name: 4}], [RNG, RNG])


@pytest.mark.parametrize("epsilon", [np.float32(0.5), np.float16(0.5), np.int64(1)])
def test_an_epsilon_of_numpy_is_the_number(epsilon):
    def fit(value):
        return NoisyBayesClassifier(epsilon=value, delta=1e-5, random_state=1, **FACTS).fit(X, Y)

    ours, plain = fit(epsilon), fit(epsilon.item())
    assert json.loads(ours.privacy_.to_json()) == json.loads(plain.privacy_.to_json())
    np.testing.assert_array_equal(ours.decision_function(X), plain.decision_function(X))


def test_a_model_of_a_schema_is_saved_by_its_own_domain_alone(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "c": np.where(X[:, 1] > 0.5, "x", "y")})
    schema = Schema({"a": (0, 1), "c": ["x", "y"]}, label=["no", "yes"])
    model = PrivGAMClassifier(epsilon=5, schema=schema, random_state=1)
    model.fit(frame, np.where(Y, "yes", "no"))
    models.save(tmp_path / "m.json", model, schema.domain)
    other = Schema({"a": (0, 10), "c": ["y", "x"]}, label=["no", "yes"])
    with pytest.raises(ModelError, match="fitted by a schema, whose domain this is not"):
        models.save(tmp_path / "o.json", model, other.domain)
    assert not (tmp_path / "o.json").exists()
