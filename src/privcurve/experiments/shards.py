"""How the points of an arm are dealt to shards: by hash, so that a grown grid moves none."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

from privcurve.experiments import canonical
from privcurve.experiments.arms import Arm, Point
from privcurve.learners import registry


def shard_of(arm: Arm, point: Point, n_shards: int) -> int:
    """Return the shard of a point: by hash, so that a grown grid moves no point.

    Points that share costly work (see ``LearnerEntry.shared``) go to the same shard.
    """
    return shard_key(arm, point) % n_shards


def shard_key(arm: Arm, point: Point) -> int:
    """Return the number whose remainder is the shard of a point."""
    return _key(canonical.text(point.epsilon), _shared(arm, point.setting, point.text))


def key_scheme(arm: Arm) -> str:
    """Name what :func:`shard_key` is made of: keys of different schemes mean nothing together."""
    return canonical.digest(list(registry.entry(arm.learner).shared))[:8]


def _shared(arm: Arm, setting: Mapping[str, Any], text: str) -> str:
    shared = registry.entry(arm.learner).shared
    return canonical.text({name: setting.get(name) for name in shared} if shared else text)


def _key(epsilon: str, shared: str) -> int:
    return int(hashlib.sha256(f"[{epsilon},{shared}]".encode()).hexdigest()[:16], 16)


def shard_points(arm: Arm, shard: int, n_shards: int) -> list[Point]:
    """Return the points of an arm that one shard trains."""
    return _shards(arm, n_shards)[shard]


@cache
def _shards(arm: Arm, n_shards: int) -> list[list[Point]]:
    if n_shards == 1:
        return [list(arm.points)]
    shards: list[list[Point]] = [[] for _ in range(n_shards)]
    # As shard_of, but each ε and each setting is written once.
    epsilons = [canonical.text(epsilon) for epsilon in arm.epsilons]
    settings = [_shared(arm, p.setting, p.text) for p in arm.points[: len(arm.settings)]]
    for point, parts in zip(arm.points, itertools.product(epsilons, settings), strict=True):
        shards[_key(*parts) % n_shards].append(point)
    return shards


@cache
def fit_seconds(arm: Arm, *shape: int) -> tuple[float, ...]:
    """Return the registry's estimate of one fit of each setting of an arm."""
    cost = registry.entry(arm.learner).cost
    return tuple(cost(setting, *shape) for setting in arm.settings)


def n_shards(arm: Arm, n_splits: int, *shape: int, seconds_per_job: float) -> int:
    """Return the number of shards of an arm on a dataset (rows, columns, classes): a power of two.

    Follows from the registry's estimate of cost, so that one job trains for about
    `seconds_per_job`: once to twice of it, since each start costs two seconds. A power of two
    seldom changes when a grid grows a little. There are never more shards than keys.
    """
    total = sum(fit_seconds(arm, *shape)) * (len(arm.epsilons) * n_splits)
    # Points with the same key can't be parted.
    shared = registry.entry(arm.learner).shared
    keys = {tuple(map(s.get, shared)) for s in arm.settings} if shared else arm.settings
    n_keys = len(arm.epsilons) * len(keys)
    shards = 1
    while 2 * shards * seconds_per_job <= total and 2 * shards <= n_keys:
        shards *= 2
    return shards


def shard_seconds(arm: Arm, n_splits: int, shard: int, shards: int, *shape: int) -> float:
    """Return the registry's estimate of what one shard costs: the hash deals unevenly."""
    cost = registry.entry(arm.learner).cost
    points = shard_points(arm, shard, shards)
    return n_splits * sum(cost(point.setting, *shape) for point in points)
