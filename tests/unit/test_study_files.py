"""Files of studies: how their names end, and what YAML would read as something else."""

import pytest
import yaml
from small_study import SMALL, read

from privcurve.experiments.study import StudyError
from privcurve.workflow import reading


@pytest.mark.parametrize("ending", [".yml", ".YAML"])
def test_a_study_of_another_ending_is_told_of(tmp_path, ending):
    configuration = read(tmp_path, good=SMALL).configuration
    (tmp_path / f"config/studies/bad{ending}").write_text("title: [")
    found = reading.read(configuration, tmp_path)
    said = f"config/studies/bad{ending} is not read: name it bad.yaml"
    assert found.notes(["good"]) == [f"left out: {said}"]
    found.refuse(["good"])
    with pytest.raises(StudyError, match=f"no target 'bad'.*{said}"):
        found.refuse(["bad"])
    with pytest.raises(StudyError, match=f"no study 'bad'.*{said}"):
        reading.read({**configuration, "studies": ["bad"]}, tmp_path)


def test_the_name_of_a_learner_that_yaml_reads_as_a_truth_value_is_refused(tmp_path):
    spec = next(iter(SMALL["learners"].values()))
    text = yaml.safe_dump({**SMALL, "learners": {"maybe": spec}}).replace("maybe", "yes")
    found = read(tmp_path, good=SMALL, bad=text)
    assert "YAML reads the key yes as true; put the word in quotes" in found.broken["bad"]
