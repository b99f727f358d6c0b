"""Compute one stage of PrivGAM's decoder in plain NumPy.

Unlike the package's decoder, it computes with matrices over all bins, and adds numbers in any
order.
"""

import numpy as np

WINDOWS = (1, 3, 9)
HEADS = 2
FAR = 4


def normalise(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def sigmoid(x):
    return (1 + np.tanh(x / 2)) / 2


def activate(x):
    return x * sigmoid(x)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def windows(values, slices, ordered):
    """Return, for each window and bin, the sum of the values of the bins in the window around it.

    The shape is (n_windows, n_bins). Only columns with ordered bins have windows of several bins.
    """
    sums = np.tile(values, (len(WINDOWS), 1))
    for k, width in enumerate(WINDOWS):
        for part in np.array(slices, dtype=object)[ordered]:
            size = part.stop - part.start
            apart = np.abs(np.arange(size)[:, None] - np.arange(size))
            sums[k, part] = (apart <= width // 2) @ values[part]
    return sums


def shifted(x, by, slices):
    """Return, for each bin, the row of the bin `by` places further up in its column.

    Rows that would come from outside the column are 0.
    """
    result = np.zeros_like(x)
    for part in slices:
        rows, size = x[part], part.stop - part.start
        if by < size and by > 0:
            result[part.start : part.stop - by] = rows[by:]
        elif -by < size and by < 0:
            result[part.start - by : part.stop] = rows[:by]
    return result


def total_of(sums, deviation, total, own_deviation, d):
    """Combine two estimates of a total: the released `total`, and the sum of `sums` divided by d.

    `deviation` and `own_deviation` are the standard deviations of the noise. Returns the mean that
    is weighted by precision, and its standard deviation.
    """
    means = np.array([sums.sum() / d, total])
    precisions = 1 / np.array([len(sums) * deviation**2 / d**2, own_deviation**2])
    left = 1 / np.sqrt(precisions.sum())
    return max((means * precisions).sum() / precisions.sum(), left / 2), left


def stage(
    weights, positive, negative, deviations, totals, total_deviations, widths, ordered, laplace,
    states, scores, intercept,
):  # fmt: skip
    """Return new states, scores and intercept after one stage.

    `weights` is a `Stage`; `states` is None in the first stage.
    """
    ends = np.cumsum(widths)
    slices = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
    d, n, ordered = len(widths), ends[-1], np.array(ordered, dtype=bool)
    column = np.repeat(np.arange(d), widths)
    bins, along = np.array(widths)[column], ordered[column].astype(float)
    ones = np.ones(n)

    def by_column(x):
        return np.array([x[part].sum(0) for part in slices])

    # Standard deviations of the noise, and the totals of all records.
    s1, s0 = deviations
    deviation = np.sqrt((s1**2 + s0**2) / 2)
    (up, up_error), (down, down_error) = (
        total_of(sums, s, total, v, d)
        for sums, s, total, v in zip(
            (positive, negative), deviations, totals, total_deviations, strict=True
        )
    )
    total, q = up + down, up / (up + down)
    odds = np.clip(np.log(up / down), -5, 5)
    variance = s1**2 * (1 - q) ** 2 + s0**2 * q**2

    # Features of the bins.
    w1, w0, counts = (windows(x, slices, ordered) for x in (positive, negative, ones))
    added = 2 * (deviation + 0.5) * np.sqrt(counts)
    ratios = np.log((np.maximum(w1, 0) + added * q) / (np.maximum(w0, 0) + added * (1 - q)))
    ratios -= np.log(q / (1 - q))
    spread = variance * counts + np.maximum(w1 + w0, 0) * q * (1 - q) / 2 + 0.05
    signals = (w1 * (1 - q) - w0 * q) / np.sqrt(spread)
    z = (positive * (1 - q) - negative * q) / np.sqrt(variance)
    both = positive + negative
    mass = np.maximum(both, 0)
    place = (np.arange(n) - (ends - widths)[column]) / np.maximum(bins - 1, 1)
    features = np.column_stack([
        *ratios, *np.arcsinh(signals), np.arcsinh(z), np.arcsinh(both / deviation),
        np.log(deviation / np.maximum(both, deviation)), np.log1p(mass) / 3 - 1,
        np.log1p(mass * bins / total), place, 4 * (place - 0.5) ** 2 - 1, along,
        np.log(bins + 1) - 2, ones * odds / 2, ones * np.log(deviation) / 2,
        ones * (np.log(total / deviation) - 4) / 2, ones * (np.log(d) - 2), ones * laplace, scores,
        ratios[0] * np.tanh(np.abs(z) / 3),
    ])  # fmt: skip
    if states is not None:
        features = np.column_stack([features, states])
    fresh = activate(features @ weights.first + weights.first_bias)
    states = fresh if states is None else states + fresh

    # Features of the columns, which see the means of their bins.
    share = mass + 1e-3 * deviation
    share = share / by_column(share)[column]
    energy, distance = by_column(z**2) / widths, by_column(share * ratios[0] ** 2)
    of_columns = np.column_stack([
        np.arcsinh(energy), np.sqrt(distance + 1e-6), ordered, np.log(np.array(widths) + 1) - 2
    ])  # fmt: skip
    common = activate(np.array([
        odds / 2, np.log(np.hypot(up_error, down_error) / total), np.log(total) / 3 - 2,
        np.log(deviation) / 2, (np.log(total / deviation) - 4) / 2, np.log(d) - 2, intercept / 3,
        ordered.mean(), np.log(n / d) - 2, float(laplace),
    ]) @ weights.common + weights.common_bias)  # fmt: skip
    parts = (weights.square, weights.square_bias, weights.column, weights.column_bias)
    for square, square_bias, of_rows, rows_bias in zip(*parts, strict=True):

        def apply(k, x, square=square, square_bias=square_bias):
            return x @ square[k] + square_bias[k]

        normal = normalise(states)
        means = [by_column(share[:, None] * normal**power) for power in (1, 2)]
        rows = np.column_stack([*means, of_columns])
        query, key, value = (
            (rows @ of_rows[k] + rows_bias[k]).reshape(d, HEADS, -1).swapaxes(0, 1)
            for k in range(3)
        )
        chances = softmax(query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1]))
        context = (chances @ value).swapaxes(0, 1).reshape(d, -1)
        direct = rows @ of_rows[3] + rows_bias[3]
        mixed = direct + apply(7, context) + normalise(common)
        near = sum(
            apply(k, shifted(normal, by, slices)) for k, by in enumerate((-1, 1, -FAR, FAR), 1)
        )
        change = apply(0, normal) + along[:, None] * near + mixed[column]
        states = states + activate(change)
        states = states + apply(6, activate(apply(5, normalise(states))))
        common = common + mixed.mean(0)

    # New scores and intercept.
    out, k = normalise(states) @ weights.last + weights.last_bias, len(WINDOWS)
    sharp = np.tanh(np.abs(signals) * np.exp(out[:, 2 + k :]).T / 2)
    steps = 1.5 * sigmoid(out[:, 0]) * (softmax(out[:, 2 : 2 + k]).T * ratios * sharp).sum(0)
    steps += 0.5 * out[:, 1]
    scores = scores + steps - by_column(share * steps)[column]
    ends = normalise(common) @ weights.intercept + weights.intercept_bias
    return states, scores, intercept + sigmoid(ends[0] + 1) * odds + 0.5 * ends[1]
