"""Test that damaged model files of BDPEα are refused."""

import json

import pytest
from test_model_file import DOMAIN, fitted, load

from privcurve import models
from privcurve.papers.boosted_dp.learners.bdpe.classifier import BDPEClassifier


@pytest.mark.parametrize("number", [10**9, -2])
def test_no_question_makes_a_kernel_read_beyond_its_arrays(tmp_path, number):
    models.save(tmp_path / "model.json", fitted(BDPEClassifier), DOMAIN)
    content = json.loads((tmp_path / "model.json").read_text())
    content["model"]["splits"][0][0] = number
    with pytest.raises(models.ModelError):
        load(tmp_path, content)


@pytest.mark.parametrize("name", ["splits", "leaf_values"])
def test_arrays_of_another_shape_are_refused(tmp_path, name):
    models.save(tmp_path / "model.json", fitted(BDPEClassifier), DOMAIN)
    content = json.loads((tmp_path / "model.json").read_text())
    content["model"][name][0] = content["model"][name][0][:-1]
    with pytest.raises(models.ModelError):
        load(tmp_path, content)
