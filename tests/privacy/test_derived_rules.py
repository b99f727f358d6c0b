"""Derived sensitivities: random programs on small domains, with all neighbours enumerated."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED, REPLACE_ONE
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import with_public
from privcurve.privacy.moves import Moves
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.rows import Of, Rows
from privcurve.privacy.sealed import Sealed, SealedError, kernel, open_values
from privcurve.privacy.sums import MOST_RECORDS, MOST_UNITS, Sum

BINS = (2, 3)
DOMAIN = list(itertools.product(range(2), range(3), (-1, 1)))


class Table(NamedTuple):
    """Some records; the first column and the label are public if `public`."""

    records: list
    public: bool = False

    def rows(self):
        table = np.array(self.records, dtype=np.int64).reshape(-1, 3)
        of, most = Of("test", np.ones(len(table), dtype=np.int64)), np.array(BINS) - 1.0
        moves = Moves.of(most * [not self.public, True])
        label = Moves.of(np.zeros(())) if self.public else None
        return (
            Rows.make(table[:, :2].astype(np.uint8), of, 0.0, most, 1.0, change=moves),
            Rows.make(table[:, 2].astype(np.int8), of, -1, 1, 1.0, change=label),
        )


def magnitude(rng):
    return 2.0 ** rng.integers(-30, 51)


def near(rng, low, high):
    """Return public numbers, half of the time integers."""
    number = rng.uniform(low, high, size=rng.choice([1, 2, 3]))
    return np.rint(number) if rng.random() < 0.5 else number


# Steps of programs: functions of rows of at least two columns, and of a random stream.
STEPS = {
    "add": lambda x, rng: x + rng.choice([-1.0, 0.5, 1 / 3]),
    "subtract": lambda x, rng: rng.choice([-1.0, 0.5, 2 / 3]) - x,
    "scale": lambda x, rng: x * rng.choice([-2.0, 0.5, 1 / 3, magnitude(rng)]),
    "divide": lambda x, rng: x / rng.choice([-2.0, 3.0, magnitude(rng)]),
    "by a column": lambda x, rng: x * rng.choice([-1.0, 0.0, 0.7], size=x._low.shape),
    "into": lambda x, rng: rng.choice([1.0, 0.7]) / (1.0 + np.square(x)),
    "beside": lambda x, rng: x + x[:, ::-1],
    "product": lambda x, rng: (x + rng.choice([0.0, 2.0])) * x[:, :1],
    "squares": lambda x, rng: x * x,
    "by one below 0": lambda x, rng: np.column_stack(
        [x[:, j] / (x[:, 0] - x._high[0] - 1.0) for j in (0, -1)]
    ),
    "quotient": lambda x, rng: x / (2.0 + np.abs(x[:, :1])),
    "exponential": lambda x, rng: np.exp(np.clip(x, -3.0, 2.5)),
    "logarithm": lambda x, rng: np.log1p(np.abs(x)),
    "root": lambda x, rng: np.sqrt(np.abs(x)),
    "tanh": lambda x, rng: np.tanh(x),
    "square": lambda x, rng: np.square(x),
    "sign": lambda x, rng: np.sign(x),
    "round": lambda x, rng: np.rint(x),
    "minimum": lambda x, rng: np.minimum(x, rng.choice([-0.5, 0.5, 1.0])),
    "maximum": lambda x, rng: np.maximum(x, x[:, ::-1]),
    "clip": lambda x, rng: np.clip(x, -0.4, 0.8),
    "test": lambda x, rng: (x > rng.choice([-0.5, 0.0, 0.5])) * rng.choice([1.0, 0.3]),
    "matrix": lambda x, rng: x @ rng.choice([-1.0, 0.0, 1.0, 0.3], size=(x._low.size, 2)),
    "columns": lambda x, rng: x[:, rng.integers(0, x._low.size, size=2)],
    "constant": lambda x, rng: np.column_stack([x, np.ones_like(x[:, 0])]),
    "clip rows": lambda x, rng: x.clip_rows(float(rng.choice([0.5, 1.0, 3.0]))),
    "total": lambda x, rng: np.column_stack([x.sum(axis=1), x[:, 0]]),
}  # fmt: skip

STARTS = {
    "codes": lambda codes, label, rng: codes + 0.0,
    "signed": lambda codes, label, rng: (codes - np.array([0.5, 1.0])) * label[:, None],
    "one-hot": lambda codes, label, rng: codes[:, 1].one_hot(3),
    "both": lambda codes, label, rng: np.column_stack([codes, label]),
    "table": lambda codes, label, rng: codes[:, 1].look_up(rng.choice([-1.0, 0.2, 2.0], (3, 2))),
    "signs": lambda codes, label, rng: np.column_stack([codes[:, 0].one_hot(2), label]),
}

SUMS = {
    "sum": lambda x, codes, label: x.sum(axis=0),
    "all": lambda x, codes, label: x.sum(),
    "by code": lambda x, codes, label: x.by(codes[:, 1], 3),
    "by public code": lambda x, codes, label: x.by(codes[:, 0], 2),
    "outer": lambda x, codes, label: x.outer().sum(axis=0),
    "count": lambda x, codes, label: np.ones_like(label).by(codes[:, 1], 3),
}

AFTER = {
    "nothing": lambda s, rng: s,
    "scale": lambda s, rng: s * rng.choice([0.3, -2.0, magnitude(rng)]) / 3.0,
    "first": lambda s, rng: s.reshape(-1)[:2],
    "join": lambda s, rng: np.concatenate([s.reshape(-1), s.reshape(-1)[:1]]),
    "norm": lambda s, rng: s.norm1(),
    "map": lambda s, rng: s.reshape(-1) @ rng.choice([-1.0, 0.5], (int(np.prod(s.shape)), 2)),
    "twice": lambda s, rng: s + s - 1.5,
}


def program(seed):
    """Return a random program: the name of its stream, start, steps, end, and what follows."""
    rng = np.random.default_rng(seed)
    start, end, after = (rng.choice(list(some)) for some in (STARTS, SUMS, AFTER))
    return seed, start, rng.choice(list(STEPS), size=rng.integers(0, 4)), end, after


def run(table, seed, start, steps, end, after):
    codes, label = table.rows()
    rng = np.random.default_rng([seed, 1])
    x = STARTS[start](codes, label, rng)
    for step in steps:
        x = STEPS[step](x, rng)
    return AFTER[after](SUMS[end](x, codes, label), rng)


def changes(at, without, relation):
    """Return the pairs of sums of all neighbours, given sums with each added record."""
    if relation == ADD_REMOVE:
        return [(value, without) for value in at.values()]
    public = relation == PRIVATE_COLUMNS
    return [
        (at[one], at[other])
        for one, other in itertools.combinations(DOMAIN, 2)
        if not public or (one[0], one[2]) == (other[0], other[2])
    ]


def mixed(records, rng):
    return [records[k] for k in rng.permutation(len(records))]


def values(sums):
    return np.asarray(open_values(sums)).ravel()


def check(*given):
    """Return the ratios of the true sensitivities of a program to its derived bounds."""
    rng = np.random.default_rng([given[0], 2])
    base = [DOMAIN[k] for k in rng.integers(0, len(DOMAIN), size=rng.choice([0, 3]))]
    # The record may have any position.
    at = {one: values(run(Table(mixed([*base, one], rng)), *given)) for one in DOMAIN}
    without, parts = values(run(Table(base), *given)), []
    for relation in (REPLACE_ONE, ADD_REMOVE, PRIVATE_COLUMNS):
        moves = run(Table(base, relation == PRIVATE_COLUMNS), *given).moves(relation)
        pairs = changes(at, without, relation)
        apart = [np.abs(a - b) for a, b in pairs]
        # The curator allows for conversions to floating point.
        slack = max(np.abs(a).max() for pair in pairs for a in pair) * 2.0**-51
        for bound, true in (
            (moves.l1, max(d.sum() for d in apart)),
            (moves.l2, max(np.sqrt((d * d).sum()) for d in apart)),
            (moves.entries.max(), max(d.max() for d in apart)),
        ):
            assert true <= bound * (1 + 1e-12) + slack, f"{given}, {relation}: {true} > {bound}"
            parts.append(true >= bound * (1 - 1e-5) - slack)
    return np.array(parts).reshape(3, 3)[:, :2]


def try_programs(seeds):
    """Try programs; per norm and relation, a third of the bounds must be attained."""
    tight = []
    with np.errstate(all="ignore"):
        for seed in seeds:
            try:
                tight.append(check(*program(seed)))
            except ValueError as error:
                if "finite bounds" not in str(error):
                    raise
    assert len(tight) > 0.8 * len(seeds)
    shares = np.mean(tight, axis=0)
    assert (shares >= 1 / 3).all(), shares


def test_derived_sensitivities_are_never_too_small_and_often_equal():
    try_programs(range(len(STEPS)))


@pytest.mark.parametrize("step", STEPS)
def test_derived_sensitivities_of_a_single_step_are_never_too_small(step):
    for seed, start in enumerate(STARTS):
        check(seed, start, [step], "sum", "nothing")


@pytest.mark.parametrize(
    ("end", "after"), [*((end, "nothing") for end in SUMS), *(("sum", after) for after in AFTER)]
)
def test_derived_sensitivities_of_a_single_sum_are_never_too_small(end, after):
    for seed, start in enumerate(STARTS):
        check(seed, start, [], end, after)


@pytest.mark.slow
def test_derived_sensitivities_of_many_programs():
    try_programs(range(1000, 1400))


@pytest.mark.parametrize(
    ("public", "changes", "of_label"), [((), [1, 2, 3], 2), ((1,), [1, 0, 3], 0)]
)
def test_rows_of_a_curator_change_where_neighbours_differ(public, changes, of_label):
    statement = noise_of("own", (Announced("a"),), epsilon=1.0, status=PROVED)
    curator = Curator(np.random.default_rng(0))
    curator.announce(with_public(statement, public) if public else statement)
    ones, codes = np.ones(1, dtype=np.int64), np.ones((1, 3), dtype=np.uint8)
    codes, label = curator.rows(Records(codes, ones.astype(np.int8), 5 * ones, np.array([2, 3, 4])))
    relation = PRIVATE_COLUMNS if public else REPLACE_ONE
    assert codes.sum(axis=0).moves(relation).entries.tolist() == changes
    assert codes.sum(axis=0).moves(ADD_REMOVE).entries.tolist() == [1, 2, 3]
    assert label.sum().moves(relation).l1 == of_label
    # A row counts as often as there are records of it.
    assert values(codes.sum(axis=0)).tolist() == [5, 5, 5]
    assert values(label.sum()).tolist() == [5]
    assert values(label.by(codes[:, 0], 2)).tolist() == [0, 5]


# Functions that enforce bounds ------------------------------------------------------------------


def rows_of(numbers, low, high):
    numbers = np.asarray(numbers, dtype=float)
    of = Of("test", np.ones(len(numbers), dtype=np.int64))
    return Rows.make(numbers, of, low, high)


def test_sums_are_multiples_of_a_public_unit_in_any_order():
    rng = np.random.default_rng(1)
    for low, high in ((-(2.0**-30), 2.0**-31), (0.0, 2.0**50), (-1.0, 1 / 3)):
        numbers = rng.uniform(low, high, size=(500, 2))
        total = values(rows_of(numbers, low, high).sum(axis=0))
        grid = 2.0 ** np.ceil(np.log2(max(-low, high))) / MOST_UNITS
        assert np.array_equal(np.rint(total / grid) * grid, total)
        assert np.allclose(total, numbers.sum(axis=0), atol=500 * grid, rtol=0)
        for _ in range(3):
            assert np.array_equal(
                values(rows_of(rng.permutation(numbers), low, high).sum(axis=0)), total
            )


def test_sums_of_the_most_records_do_not_overflow():
    of = Of("test", np.array([MOST_RECORDS]))
    for high in (1 / 3, 1.0, 2.0**50 - 1):
        total = Rows.make(np.full((1, 2), high), of, [-high, 0.0], high).sum(axis=0)
        assert values(total) == pytest.approx([MOST_RECORDS * high] * 2, rel=1e-8)


def test_small_codes_do_not_overflow():
    """Arithmetic of bytes would: 255 · 255 = 1, and −1 = 255."""
    codes = np.array([[255, 0]], dtype=np.uint8)
    codes = Rows.make(codes, Of("test", np.ones(1, dtype=np.int64)), 0, 255, 1.0)
    for made, right in ((codes * codes, 255**2), (codes + codes, 510), (-codes, -255)):
        assert values(made.sum(axis=0)).tolist() == [right, 0]
    assert values(codes.outer().sum(axis=0)).tolist() == [255**2, 0, 0, 0]


def test_outer_products_of_clipped_rows_have_the_squared_norm():
    codes, _ = Table(DOMAIN).rows()
    moves = [
        (9.0 * codes).clip_rows(3.0).outer().sum(axis=0).moves(one)
        for one in (REPLACE_ONE, ADD_REMOVE)
    ]
    assert [one.l2 for one in moves] == pytest.approx([9 * 2**0.5, 9], rel=1e-6)


def test_nan_and_numbers_beyond_the_bounds_add_a_public_value():
    numbers = [[np.nan, 0.5], [np.inf, -np.inf], [7.0, -7.0]]
    assert values(rows_of(numbers, -1.0, 1.0).sum(axis=0)).tolist() == [2.0, -1.5]
    # 0 is outside these bounds, so the nearest number counts.
    assert values(rows_of(numbers, 2.0, 3.0).sum(axis=0)).tolist() == [8.0, 6.0]
    # A loop of its own adds up a single column.
    for low, high, right in ((-1.0, 1.0, 2.0), (2.0, 3.0, 8.0)):
        assert values(rows_of(np.array(numbers)[:, 0], low, high).sum()).tolist() == [right]
    clipped = rows_of(numbers, -9.0, 9.0).clip_rows(1.0)
    assert values(clipped.sum(axis=0)) == pytest.approx([2**-0.5, -(2**-0.5)], abs=1e-8)


def test_clipped_rows_are_never_longer_than_the_bound():
    from fractions import Fraction

    rng = np.random.default_rng(2)
    for scale in (2.0**-30, 1.0, 2.0**50):
        numbers = scale * rng.standard_normal((300, 7)) * rng.choice([1e-3, 1, 1e3], (300, 1))
        for longest in (scale, scale / 3):
            clipped = open_values(rows_of(numbers, -9e3 * scale, 9e3 * scale).clip_rows(longest))
            for row in clipped:
                assert sum(Fraction(x) ** 2 for x in row) <= Fraction(longest) ** 2
    # A row inside the ball does not change.
    inside = rows_of([[0.3, 0.4]], -1, 1).clip_rows(1.0)
    assert open_values(inside).tolist() == [[0.3, 0.4]]


@pytest.mark.parametrize(
    "step",
    [
        lambda codes, label: 1.0 / codes,
        lambda codes, label: np.log(codes),
        lambda codes, label: codes * np.inf,
        lambda codes, label: np.exp(codes * 1e6),
        lambda codes, label: codes + np.nan,
        lambda codes, label: label / (label + 0.0),
    ],
)
def test_a_step_without_finite_bounds_is_refused(step):
    with pytest.raises(ValueError, match=r"finite bounds.*np\.clip"):
        step(*Table(DOMAIN).rows())


@pytest.mark.parametrize(
    "step",
    [
        lambda codes: codes + np.ones(3),
        lambda codes: np.maximum(codes, np.column_stack([codes, codes])),
        lambda codes: codes @ np.ones(1),
        lambda codes: codes[:, :1] @ np.ones((2, 2)),
        lambda codes: codes.sum(axis=0) @ np.ones((1, 2)),
        lambda codes: codes.sum(axis=0) @ np.ones(3),
    ],
)
def test_shapes_that_do_not_fit_are_refused_by_public_facts_alone(step):
    """A compiled product reads beyond a matrix of too few rows; NumPy prints the number of rows."""
    said = set()
    for records in (DOMAIN, DOMAIN[:5]):
        codes, _ = Table(records).rows()
        with pytest.raises(ValueError, match=r"shape mismatch|must have a row per column") as error:
            step(codes)
        said.add(str(error.value))
    assert len(said) == 1


def test_sums_of_zeros_are_zero_in_the_smallest_unit():
    """The inverse of a unit of 2^-1040 is infinite."""
    codes, _ = Table(DOMAIN[:1]).rows()
    zeros = codes * 0.0
    for _ in range(26):
        zeros = zeros * 2.0**-40
    assert not values(zeros.sum(axis=0)).any()


@pytest.mark.parametrize(
    "step",
    [
        lambda codes, label: codes - kernel(np.mean)(codes),
        lambda codes, label: np.sort(open_and_seal(codes), axis=0),
        lambda codes, label: codes * kernel(np.copy, rows=0)(codes),
        lambda codes, label: codes.T @ codes,
        lambda codes, label: np.cumsum(codes, axis=1),
        lambda codes, label: np.where(label[:, None] > 0, codes, 0),
    ],
)
def test_operations_without_a_rule_have_no_bounds(step):
    codes, label = Table(DOMAIN).rows()
    try:
        made = step(codes, label)
    except SealedError:
        return
    assert isinstance(made, Sealed)
    assert not isinstance(made, (Rows, Sum))


def open_and_seal(rows):
    return kernel(np.copy)(rows)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[:, [0, 1]],
        np.s_[:, [0], None, [1]],
        np.s_[:, 0, None, [1, 0]],
        np.s_[:, np.array([True, False]), None, [1]],
        np.s_[:, ..., [1]],
        np.s_[:, None, 1, ::-1],
    ],
)
def test_columns_are_taken_of_each_record(index):
    """NumPy moves the axis of two lists that None separates to the front, before the records."""
    codes, _ = Table(DOMAIN).rows()
    squares = codes.outer()
    right = np.stack([row[index[1:]] for row in open_values(squares)])
    made = squares[index]
    assert isinstance(made, Rows)
    assert np.array_equal(open_values(made), right)
    assert np.array_equal(values(made.sum(axis=0)), right.sum(axis=0).ravel())


def test_rows_are_not_written_into():
    codes, _ = Table(DOMAIN).rows()
    for step in (
        lambda: codes.__setitem__(0, 1.0),
        lambda: np.add(codes, 1.0, out=codes),
        lambda: np.multiply(kernel(np.copy)(codes), 1.0, out=codes),
        lambda: kernel(annotated)(codes),
    ):
        with pytest.raises(SealedError):
            step()


def test_sums_are_not_written_into():
    """Neither a kernel nor a view can change sums."""
    codes, label = Table(DOMAIN).rows()
    for sums in (codes.sum(axis=0), label.sum(), codes.sum(axis=0) * 2.0 + 1.0):
        for step in (
            lambda one: kernel(annotated)(one),
            lambda one: one.T.__setitem__(..., 1.0),
            lambda one: np.reshape(one, -1).__setitem__(..., 1.0),
        ):
            with pytest.raises(SealedError, match="ends with ValueError"):
                step(sums)


@pytest.mark.parametrize(
    "step",
    [
        # Squares or grids of these numbers underflow or overflow: norms became 0 or NaN.
        lambda codes: codes * 1e-70 * 1e-70,
        lambda codes: codes * 1e200,
        lambda codes: np.square(codes * 1e-100),
        lambda codes: (codes * 1e-70).outer(),
        lambda codes: codes.sum(axis=0) * 1e-70 * 1e-70,
        lambda codes: codes.sum(axis=0) * 1e100 * 1e100 * 0.0,
        lambda codes: codes.sum(axis=0) / 1e308,
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bounds_are_ordinary_numbers(step):
    codes, _ = Table(DOMAIN).rows()
    with pytest.raises(ValueError, match=r"bounds of rows and sums must be 0, or from 2\^-400"):
        step(codes)


def test_public_numbers_are_as_their_bounds_take_them():
    """Values below 2^-400 of any type become 0."""
    codes, _ = Table(DOMAIN).rows()
    least = np.longdouble(2) ** -3000
    for made in (codes.sum(axis=0) * least, (codes * least).sum(axis=0)):
        assert made.moves(ADD_REMOVE).is_zero
        assert open_values(made).dtype == np.float64
        assert not open_values(made).any()


def test_rounding_follows_from_the_public_numbers_that_were_added():
    """Products are rounded in proportion to their size, and differences show the rounding."""
    shift, n = 2.0**60, np.ones((1, 1))
    of = Of("test", np.ones(1, dtype=np.int64))
    nothing = Rows.make(0 * n, of, 0.0, 0.0, 1.0).sum(axis=0)
    apart = []
    for value in (0.0, 256.0):
        some = Rows.make(value * n, of, 0.0, 256.0, 1.0).sum(axis=0)
        made = (some + shift) * 0.7 - (nothing + shift) * 0.7
        apart.append(values(made))
    assert abs(apart[1] - apart[0]) <= made.moves(ADD_REMOVE).l1
    assert made.moves(ADD_REMOVE).l1 >= 0.7 * 256 + 2 * shift * 0.7 * 2.0**-52


def test_bounds_that_are_looked_at_are_not_written_into():
    codes, _ = Table(DOMAIN).rows()
    sums = codes.sum(axis=0)
    sums.moves(REPLACE_ONE).entries[:] = 0.0
    assert sums[:].moves(REPLACE_ONE).l1 == 3


def annotated(array) -> None:
    array[:] = 1


@pytest.mark.parametrize("look", [bool, float, len, list, repr, np.asarray, lambda x: x.tolist()])
def test_rows_and_sums_are_sealed(look):
    codes, label = Table(DOMAIN).rows()
    for one in (codes, label, label.sum(), codes.sum(axis=0)):
        if look is len and isinstance(one, Sum) and one.ndim:
            continue
        with pytest.raises(SealedError):
            look(one)


def test_codes_that_are_none_are_refused():
    codes, label = Table(DOMAIN).rows()
    for wrong in (label, codes[:, 1] / 2.0, codes[:, 1] + 1.0):
        with pytest.raises(ValueError, match="codes must be whole numbers from 0 to 2"):
            wrong.one_hot(3)
    others, _ = Table(DOMAIN).rows()
    with pytest.raises(SealedError, match="not codes of the same records"):
        label.by(others[:, 1], 3)
    # Rows of other records cannot be combined with these.
    with pytest.raises(AssertionError):
        assert isinstance(codes + others, Rows)
