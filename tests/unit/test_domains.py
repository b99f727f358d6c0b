"""The 19 UCI domains: their descriptions, and the real files where a mirror has them."""

import os

import numpy as np
import pytest

from privcurve import datasets
from privcurve.datasets import describe

# Share of the rarer label; how many records there are is checked when they are read.
SHARES = """
transfusion=0.238  banknote=0.445  breastwisc=0.345  ionosphere=0.359  sonar=0.466  yeast=0.312
winered=0.465  cardiotocography=0.222  creditcardsmall=0.214  abalone=0.498  qsar=0.337  page=0.102
winewhite=0.335  mice=0.472  hill-noise=0.500  hill-nonoise=0.495  firmteacher=0.165  magic=0.352
eeg=0.449
"""
DOMAINS = dict(pair.split("=") for pair in SHARES.split())
# Other public bins of one of them.
VARIANTS = [
    *("page-log", "magic-bounds", "eeg-bounds", "eeg-file"),
    *(f"{name}-50" for name in ("banknote", "qsar", "winered", "winewhite")),
]

needs_mirror = pytest.mark.skipif(
    not os.environ.get("PRIVCURVE_DATA"), reason="PRIVCURVE_DATA is not set"
)


@pytest.mark.parametrize("name", [*DOMAINS, *VARIANTS])
@needs_mirror
def test_the_real_file(name):
    data = datasets.load(name)
    share = min(np.mean(data.y == sign) for sign in (-1, 1))
    base = describe(name).source if name in VARIANTS else name
    assert share == pytest.approx(float(DOMAINS[base]), abs=6e-4)
    # Bounds that were set without the file cut little off it.
    assert max(data.clipped["train"].values(), default=0) < 0.02


def test_white_wine_has_the_bounds_of_red():
    assert describe("winewhite").domain == describe("winered").domain
    assert describe("hill-nonoise").domain == describe("hill-noise").domain
