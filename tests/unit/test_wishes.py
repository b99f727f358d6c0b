"""The ε that a wanted score needs."""

import math

import pandas as pd
import pytest

from privcurve.outputs.answers import ranking
from privcurve.outputs.wishes import Wish, needed_epsilon

SHARE = "gam~train_share=0.9"
TITLES = {SHARE: "Most", "gam": "PrivGAM", "short": "Short", "lucky": "Lucky", "free": "Free"}


def places(scores, error=0.0, free=0.95, other=()):
    """Return PrivGAM's scores by ε, and a learner that is better by chance."""
    rows = [("free", "logistic_regression", None, math.inf, free, 0.0)]
    for epsilon, score in scores.items():
        rows.append(("gam", "privgam", "proved", epsilon, score, error))
        rows.append(("lucky", "one_rule", "proved", epsilon, score + 0.04, 0.005))
    rows += [(name, "privgam", "proved", epsilon, 0.85, error) for name, epsilon in other]
    names = ["method", "learner", "calibration", "epsilon", "auc", "auc_error"]
    frame = pd.DataFrame(rows, columns=names).assign(dataset="d", delta=0.0, accuracy=0.8)
    frame = frame.assign(scored_on="test", n_repeats=4)
    return [ranking(frame, "d", epsilon, TITLES, "auc") for epsilon in scores]


RISING = {0.1: 0.6, 1.0: 0.8, 10.0: 0.9}


def test_it_is_interpolated_along_the_logarithm_of_epsilon():
    needed = needed_epsilon(places(RISING), Wish.parse("auc>=0.7"))
    assert needed.epsilon == pytest.approx(10**-0.5)
    assert needed.low == needed.high == needed.epsilon
    assert needed.sentence == "for an AUC of 0.7 you need ε ≈ 0.32 (0.32 to 0.32) with PrivGAM"


def test_two_methods_of_one_learner_stay_two_curves():
    other = [("short", 0.1), *((SHARE, epsilon) for epsilon in RISING)]
    needed = needed_epsilon(places(RISING, other=other), Wish.parse("auc>=0.7"))
    assert needed.sentence == "for an AUC of 0.7 you need ε ≈ 0.32 (0.32 to 0.32) with PrivGAM"


def test_its_range_spans_two_standard_errors():
    needed = needed_epsilon(places(RISING, 0.025), Wish.parse("auc>=0.7"))
    assert needed.low == pytest.approx(10 ** (-1 + 0.05 / 0.2))
    assert needed.high == pytest.approx(10 ** (-1 + 0.15 / 0.2))
    wide = needed_epsilon(places(RISING, 0.1), Wish.parse("auc>=0.75"))
    assert (wide.low, wide.high) == (0, math.inf)
    assert "(below 0.1 to above 10)" in wide.sentence
    enough = needed_epsilon(places(RISING, 0.025), Wish.parse("auc>=0.59"))
    assert enough.sentence.endswith("compared, or 0.16 if its score is two standard errors worse")


def test_one_repeat_gives_no_range():
    needed = needed_epsilon(places(RISING, math.nan), Wish.parse("auc>=0.7"))
    assert needed.sentence == "for an AUC of 0.7 you need ε ≈ 0.32 with PrivGAM"


def test_a_wish_that_no_epsilon_or_every_epsilon_satisfies_is_reported():
    never = needed_epsilon(places(RISING), Wish.parse("auc within 0.02"))
    assert math.isinf(never.epsilon)
    assert never.target == pytest.approx(0.93)
    assert never.sentence == (
        "an AUC within 0.02 of no privacy is not reachable up to ε = 10: PrivGAM has 0.900 ± 0.000 "
        "there"
    )
    perhaps = needed_epsilon(places(RISING, 0.02), Wish.parse("auc within 0.02"))
    assert perhaps.sentence.endswith("within two standard errors from ε ≈ 7.9 on")
    always = needed_epsilon(places({0.1: 0.6, 1.0: 0.6}, 0.1), Wish.parse("auc>=0.7"))
    assert always.sentence.endswith("there, within two standard errors from ε = 0.1 on")
    least = needed_epsilon(places(RISING), Wish.parse("auc>=0.5"))
    assert least.sentence == "for an AUC of 0.5 ε = 0.1 is enough, the smallest that was compared"


def test_a_curve_that_falls_by_noise_is_made_monotone():
    needed = needed_epsilon(
        places({0.1: 0.6, 1.0: 0.8, 3.0: 0.76, 10.0: 0.9}), Wish.parse("auc>=0.79")
    )
    # The two middle values are merged to 0.78.
    assert 3 < needed.epsilon < 10


def test_a_smaller_loss_is_better():
    of_scores = places({epsilon: 1 - score for epsilon, score in RISING.items()}, 0.0, 0.05)
    of_losses = [
        ranking(frame, "d", place.epsilon, TITLES, "log_loss")
        for place in of_scores
        for frame in [
            pd.concat([one.private for one in of_scores] + [place.free], ignore_index=True).rename(
                columns={"auc": "log_loss", "auc_error": "log_loss_error"}
            )
        ]
    ]
    needed = needed_epsilon(of_losses, Wish.parse("log_loss <= 0.3"))
    assert needed.sentence == "for a log loss of 0.3 you need ε ≈ 0.32 (0.32 to 0.32) with PrivGAM"
    assert needed.target == pytest.approx(0.3)
    within = needed_epsilon(of_losses, Wish.parse("log_loss within 0.1"))
    assert within.target == pytest.approx(0.15)
    assert within.epsilon == pytest.approx(10**0.5)
    assert str(Wish.parse("log_loss <= 0.3")) == "log_loss <= 0.3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("auc", "a wanted score must be like auc>=0.9"),
        ("f1>=0.9", "the measure must be one of: accuracy, balanced_accuracy, auc"),
        ("auc>=90", "must be between 0 and 1, as a share is; got 90"),
        ("auc>=1e", "must be a number; got '1e'"),
        ("accuracy within 0", "must be between 0 and 1, as a share is; got 0"),
        ("auc<=0.9", "a larger auc is better: write >= for <="),
        ("log_loss>=0.2", "a smaller log_loss is better: write <= for >="),
        ("log_loss<=0", "must be above 0; got 0"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Wish.parse(text)


def test_a_wish_is_read_as_people_write_it():
    assert Wish.parse("AUC ≥ .9") == Wish("auc", 0.9, within=False)
    assert Wish.parse("Balanced accuracy within 0.02") == Wish(
        "balanced_accuracy", 0.02, within=True
    )
    assert Wish.parse(str(Wish("auc", 0.02, within=True))) == Wish("auc", 0.02, within=True)
