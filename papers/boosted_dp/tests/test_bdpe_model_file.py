"""Test that damaged model files of BDPEα are refused."""

import json

import pytest
from test_model_file import DOMAIN, fitted, load

from privcurve import models
from privcurve.papers.boosted_dp.learners.bdpe.classifier import BDPEClassifier


@pytest.mark.parametrize(
    ("name", "change"),
    [
        # Without a check, a compiled loop would use this number as an index beyond the end of its
        # arrays.
        ("splits", lambda tree: [10**9, *tree[1:]]),
        ("splits", lambda tree: [-2, *tree[1:]]),
        ("splits", lambda tree: tree[:-1]),
        ("leaf_values", lambda tree: tree[:-1]),
    ],
    ids=["large question", "negative question", "fewer questions", "fewer leaves"],
)
def test_a_changed_first_tree_is_refused(tmp_path, name, change):
    models.save(tmp_path / "model.json", fitted(BDPEClassifier), DOMAIN)
    content = json.loads((tmp_path / "model.json").read_text())
    content["model"][name][0] = change(content["model"][name][0])
    with pytest.raises(models.ModelError):
        load(tmp_path, content)
