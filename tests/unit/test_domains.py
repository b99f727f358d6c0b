"""The 19 UCI domains: their descriptions, and the real files where a mirror has them."""

import os

import numpy as np
import pytest

from privcurve import datasets
from privcurve.datasets import describe

# Records, columns, share of the rarer label.
DOMAINS = {
    "transfusion": (748, 4, 0.238),
    "banknote": (1372, 4, 0.445),
    "breastwisc": (699, 9, 0.345),
    "ionosphere": (351, 33, 0.359),
    "sonar": (208, 60, 0.466),
    "yeast": (1484, 8, 0.312),
    "winered": (1599, 11, 0.465),
    "cardiotocography": (2126, 9, 0.222),
    "creditcardsmall": (1000, 23, 0.214),
    "abalone": (4177, 8, 0.498),
    "qsar": (1055, 41, 0.337),
    "winewhite": (4898, 11, 0.335),
    "page": (5473, 10, 0.102),
    "mice": (1080, 77, 0.472),
    "hill-noise": (1212, 100, 0.500),
    "hill-nonoise": (1212, 100, 0.495),
    "firmteacher": (10800, 16, 0.165),
    "magic": (19020, 10, 0.352),
    "eeg": (14980, 14, 0.449),
}
# Other public bins of one of them.
VARIANTS = {
    "page-log": "page",
    "magic-bounds": "magic",
    "eeg-bounds": "eeg",
    "eeg-file": "eeg",
    "banknote-50": "banknote",
    "qsar-50": "qsar",
    "winered-50": "winered",
    "winewhite-50": "winewhite",
}

needs_mirror = pytest.mark.skipif(
    not os.environ.get("PRIVCURVE_DATA"), reason="PRIVCURVE_DATA is not set"
)


@pytest.mark.parametrize("name", [*DOMAINS, *VARIANTS])
@needs_mirror
def test_the_real_file(name):
    n_rows, n_columns, rarer = DOMAINS[VARIANTS.get(name, name)]
    data = datasets.load(name)
    assert data.X.shape == (n_rows, n_columns)
    share = min(np.mean(data.y == sign) for sign in (-1, 1))
    assert share == pytest.approx(rarer, abs=6e-4)
    # Bounds that were set without the file cut little off it.
    assert max(data.clipped["train"].values(), default=0) < 0.02


def test_white_wine_has_the_bounds_of_red():
    assert describe("winewhite").domain == describe("winered").domain
    assert describe("hill-nonoise").domain == describe("hill-noise").domain
