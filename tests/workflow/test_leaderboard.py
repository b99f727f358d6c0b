"""The leaderboard page of a run: made by the run, and again after a change of its contents."""

import pytest
from checkout import TINY_STUDY

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

RENAMED = {**TINY_STUDY["learners"], "majority": {"learner": "majority_class", "title": "The most"}}


def test_the_page_follows_titles_and_files(finished):
    page = finished.folder / "results/leaderboard.html"
    assert "Majority class" in page.read_text()
    finished.write_study(learners=RENAMED)
    finished.run("leaderboard")
    made = page.read_text()
    assert "The most" in made
    assert "Majority class" not in made
    page.write_text("something else")
    finished.run("leaderboard")
    assert page.read_text() == made
    assert "Nothing to be done" in finished.run("leaderboard")
