"""A learner that gets bounds has the codes of the pipeline, to the last bit."""

import json
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

from privcurve import Schema, binning, coding, datasets
from privcurve.datasets import Column, Domain, Label
from privcurve.datasets.coding import encode_frame
from privcurve.datasets.coding.coder import ColumnCoder
from privcurve.learners import LazyBBClassifier

SHIPPED = ["adult", "adult-fine", "codrna", "wdbc", "toy-line"]


def rounded(domain):
    """Return a domain with rounded edges, as a new description has them."""
    return replace(domain, columns=tuple(replace(c, exact=False) for c in domain.columns))


@pytest.mark.parametrize("name", SHIPPED)
def test_learners_and_pipeline_agree_at_every_edge(name):
    domain = rounded(datasets.describe(name).domain)
    for column in (one for one in domain.columns if one.kind == "numeric"):
        edges = np.array(column.edges)
        values = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        expected = ColumnCoder(domain, column).code(values).codes
        low, high = column.bounds
        codes = binning.code_equal_width(values[:, None], (low, high), np.array([column.bins]))
        assert np.array_equal(codes[:, 0], expected), column.name
        # An edge belongs to the bin above it, as the bins' names say.
        assert expected[: len(edges)].tolist() == [*range(column.bins), column.bins - 1]


@pytest.mark.usefixtures("given_streams")
def test_a_learner_with_bounds_is_the_pipelines_model_of_wdbc():
    from sklearn.datasets import load_breast_cancer

    coded, numbers = datasets.load("wdbc"), load_breast_cancer().data
    ends = encode_frame(rounded(coded.domain), numbers)
    assert 0 < np.count_nonzero(ends != coded.X) < 10
    coded = replace(coded, X=ends)
    low, high = zip(*(c.bounds for c in coded.domain.columns), strict=True)
    common = {"n_bins": coded.domain.n_bins, "classes": (-1, 1), "epsilon": 5.0}
    one, other = (np.random.default_rng(3) for _ in range(2))
    ours = LazyBBClassifier(random_state=one, **common).fit(coded.X, coded.y)
    theirs = LazyBBClassifier(random_state=other, bounds=(low, high), **common)
    theirs.fit(numbers, coded.y)
    assert np.array_equal(binning.code_equal_width(numbers, (low, high), ours.n_bins_), coded.X)
    assert np.array_equal(theirs._code(numbers), coded.X)
    assert np.array_equal(ours.decision_function(coded.X), theirs.decision_function(numbers))


@pytest.mark.parametrize(
    ("low", "high"), [(0, np.inf), (-1e308, 1e308), (1, 1), (2, 1), (1, 1 + 1e-15), (np.nan, 1)]
)
def test_bounds_without_a_finite_width_are_refused(low, high):
    with pytest.raises(ValueError, match=r"bounds .* of column 0 (must|leave)"):
        binning.code_equal_width(np.zeros((2, 1)), (low, high), np.array([10]))


def test_bins_of_equal_ratio():
    edges = binning.edges(0.01, 1000, 5, binning.LOG)
    codes = binning.code_by_edges(np.array([0.001, 0.05, 1, 1.0001, 2000]), edges)
    assert codes.tolist() == [0, 0, 2, 2, 4]
    with pytest.raises(ValueError, match="above 0"):
        binning.edges(0, 1, 5, binning.LOG)
    # Rounded edges are round decimals, so a value equal to an edge belongs to the bin above it.
    assert edges.tolist() == [0.01, 0.1, 1, 10, 100, 1000]
    assert binning.edges(0, 2**30 - 1, 30, binning.LOG1P).tolist() == [2**k - 1 for k in range(31)]


def test_one_hot_has_one_entry_a_column():
    codes = np.array([[0, 2], [1, 0]], dtype=np.uint8)
    rows = coding.one_hot(codes, np.array([2, 3]), 0.5).toarray()
    assert rows.tolist() == [[0.5, 0, 0, 0, 0.5], [0, 0.5, 0.5, 0, 0]]
    # Offsets do not overflow small integer types.
    codes = np.full((1, 3), 255, dtype=np.uint8)
    assert coding.one_hot(codes, np.array([256] * 3)).indices.tolist() == [255, 511, 767]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 1e5), (5, 6), (-10, 100), (-1e-3, 1)])
@pytest.mark.parametrize("n_bins", [2, 3, 10, 64, 256])
@pytest.mark.parametrize("spacing", [binning.MIXED, binning.MIXED_HIGH])
def test_mixed_bins_are_half_even_and_half_logarithmic(low, high, n_bins, spacing):
    edges = binning.edges(low, high, n_bins, spacing)
    assert len(edges) == n_bins + 1
    assert (edges[0], edges[-1]) == (low, high)
    # Measure from the end where bins are finest, and on each side of 0 separately.
    if spacing == binning.MIXED_HIGH:
        sides = [(high - edges[::-1]) / (high - low)]
    elif low < 0:
        assert 0 in edges
        sides = [edges[edges >= 0] / high, edges[edges <= 0][::-1] / low]
    else:
        sides = [(edges - low) / (high - low)]
    for side in sides:
        places = np.arange(len(side)) / (len(side) - 1)
        with np.errstate(divide="ignore"):
            reached = side / 2 + np.maximum(0, 1 + np.log2(side) / 14) / 2
        np.testing.assert_allclose(reached, places, atol=1e-7)


@pytest.mark.parametrize("spacing", [binning.EQUAL, binning.LOG, binning.LOG1P])
@pytest.mark.parametrize(("low", "high", "n_bins"), [(0.1, 0.7, 6), (3.0, 99999.0, 17), (1, 2, 2)])
def test_edges_match_exact_arithmetic(low, high, n_bins, spacing):
    shift = int(spacing == binning.LOG1P)
    with localcontext() as context:
        context.prec = 60
        first, last = Decimal(repr(low)) + shift, Decimal(repr(high)) + shift
        steps = [Decimal(k) / n_bins for k in range(n_bins + 1)]
        if spacing == binning.EQUAL:
            exact = [first + (last - first) * step for step in steps]
        else:
            exact = [first * ((last / first).ln() * step).exp() - shift for step in steps]
    edges = binning.edges(low, high, n_bins, spacing)
    assert edges.tolist() == pytest.approx([float(edge) for edge in exact], rel=1e-11)
    if spacing != binning.EQUAL:
        assert edges[1:-1].tolist() == [float(f"{edge:.12g}") for edge in exact[1:-1]]


# Names of bins agree with the codes of values ----------------------------------------------------

EDGES = [
    ((0.0, 0.9), 9, "equal"),
    ((-1.0, 1.0), 20, "equal"),
    ((0.0, 1.0), 3, "equal"),
    ((0.1, 0.7), 6, "equal"),
    ((-12.3, 45.6), 64, "equal"),
    ((0.0, 1e6), 64, "mixed"),
    ((1.0, 1e6), 7, "log"),
]


@pytest.mark.parametrize(("bounds", "bins", "spacing"), EDGES)
def test_a_value_that_is_written_as_an_edge_is_in_the_bin_above(bounds, bins, spacing):
    column = Column("c", "numeric", bounds, bins, spacing=spacing)
    domain = Domain((column,), Label("y", "no", "yes"))
    lows = [name.partition(" <= ")[0] for name in column.bin_names]
    assert encode_frame(domain, {"c": lows})[:, 0].tolist() == list(range(bins))
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    schema = Schema({"c": {"bounds": [*bounds], "n_bins": bins, "spacing": spacing}}, [0, 1])
    assert schema.domain.columns[0].edges == column.edges
    if spacing == "equal":
        numbers = np.array([[float(low)] for low in lows])
        codes = binning.code_equal_width(numbers, bounds, np.array([bins]))
        assert codes[:, 0].tolist() == list(range(bins))


def test_rounded_edges_are_distinguished_from_earlier_edges():
    """Data and models that were encoded with unrounded edges keep their codes and checksums."""
    column = Column("c", "numeric", (0.0, 0.9), 9)
    old, new = (Domain((one,), Label("y", "no", "yes")) for one in (column.keep_exact(), column))
    assert encode_frame(old, {"c": [0.3, 0.6]}).tolist() == [[2], [5]]
    assert encode_frame(new, {"c": [0.3, 0.6]}).tolist() == [[3], [6]]
    assert old.to_json() == new.to_json().replace(',"rounded":true', "")
    for domain in (old, new):
        assert Domain.from_dict(domain.to_dict()) == domain
    # The flag is absent if rounding changes no edge.
    plain = Column("c", "numeric", (0.0, 1.0), 10)
    assert plain.keep_exact() == plain
    assert "rounded" not in Domain((plain,), Label("y", "no", "yes")).to_json()


def test_shipped_datasets_have_the_edges_of_their_stored_runs():
    # All stored runs of electricity were made with rounded edges.
    for name in {*datasets.names()} - {"electricity"}:
        assert "rounded" not in datasets.describe(name).domain.to_json(), name
