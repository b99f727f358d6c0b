"""Train the network: ``python decoder/train.py STATE --pool FOLDER [--steps N | --minutes M]``.

STATE is a file with the weights, their average over the last steps, the state of the optimizer and
the number of steps. If the file exists, the training continues from it. FOLDER has simulated tables
(decoder/tables.py), and the folder PRIVCURVE_DATA has the public ones. The seed and the number of a
step determine its tasks and noise: so an interrupted training, continued up to the same step, ends
with the same weights as an uninterrupted one.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise SystemExit(f"the training needs JAX and Optax ({error}): run `make train`") from None

import network
from tasks import Shape, Source

RATE = 7e-4
WARM_UP = 300  # number of steps over which the learning rate rises
# Maximum weight of the old average when a step updates the average of the network's weights; early
# steps use a smaller weight, to forget the initial weights.
MOST_KEPT = 0.9995
# OF_RELEASES has the weight of each release in the training loss, for tasks of 3, 6 or 12 releases.
# OF_MEASURES has the weights of the log-loss and of the smoothed error rate.
OF_RELEASES = {
    3: (0.2, 0.2, 0.6),
    6: (0.1, 0.1, 0.15, 0.15, 0.2, 0.3),
    12: (*[0.06] * 3, *[0.07] * 6, 0.1, 0.1, 0.2),
}
OF_MEASURES = (1.0, 0.3)
STEPS_PER_LINE = 100
AHEAD = 4  # number of batches that a second thread draws in advance

OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.inject_hyperparams(optax.adamw)(learning_rate=RATE, weight_decay=1e-4),
)


class State(NamedTuple):
    """The state of a training after `n_steps` steps; `average` is a moving average of `weights`."""

    weights: Any
    average: Any
    optimizer: Any
    n_steps: int


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("state", type=Path)
    parser.add_argument("--pool", type=Path, required=True, help="folder of simulated tables")
    parser.add_argument("--steps", type=int, help="up to this number, earlier ones included")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument(
        "--fall-from", type=int, metavar="STEP", help="from here on the rate falls to 0 at --steps"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder of what JAX compiles")
    options = parser.parse_args()
    if options.cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(options.cache))
    if options.fall_from is not None and (options.steps or 0) <= options.fall_from:
        parser.error("--fall-from must be below --steps, where the rate is 0")
    last = time.monotonic() + 60 * options.minutes
    train(
        options.state,
        Source(options.pool, options.seed),
        lambda n_steps: n_steps == options.steps or time.monotonic() > last,
        lambda n_steps: rate_at(n_steps, options.rate, options.fall_from, options.steps),
        options.seed,
    )


def rate_at(step: int, rate: float, fall_from: int | None = None, last: int | None = None) -> float:
    """Return the learning rate of a step: it rises to `rate`, and falls to 0 at the step `last`.

    It rises in the first `WARM_UP` steps, and falls from the step `fall_from` on, if given.
    """
    risen = rate * min(1.0, (step + 1) / WARM_UP)
    if fall_from is None or last is None or step < fall_from:
        return risen
    return risen * (last - step) / (last - fall_from)


def train(
    path: Path,
    source: Source,
    ends: Callable[[int], bool],
    rate: Callable[[int], float] = lambda step: rate_at(step, RATE),
    seed: int = 0,
) -> State:
    """Train until `ends(n_steps)`; return the state.

    The state is written to `path` every `STEPS_PER_LINE` steps and at the end; if the file exists,
    the training continues from it. `rate(n_steps)` is the learning rate.
    """
    state = read(path) if path.exists() else begin(seed)
    losses: dict[str, list[Any]] = {}
    start, before = time.monotonic(), state.n_steps
    batches = _draw_ahead(source, state.n_steps)
    while not ends(state.n_steps):
        name, batch = next(batches)
        state, loss = take_step(source.shape(name), state, batch, rate(state.n_steps), seed)
        losses.setdefault(f"{name}/{len(loss)}", []).append(loss)
        if state.n_steps % STEPS_PER_LINE == 0:
            pace = (time.monotonic() - start) / (state.n_steps - before)
            means = (
                f"{k} {np.round(np.mean(v, 0), 3).tolist()}" for k, v in sorted(losses.items())
            )
            print(state.n_steps, f"{pace:.2f} s a step;", "; ".join(means), flush=True)
            losses = {}
            write(state, path)
    write(state, path)
    return state


def begin(seed: int) -> State:
    """Return the state before the first step."""
    weights = network.init(jax.random.PRNGKey(seed))
    return State(weights, weights, OPTIMIZER.init(weights), 0)


def read(path: Path) -> State:
    """Read a state from a file. Only read your own files: a pickle can execute code."""
    with path.open("rb") as stream:
        *trees, n_steps = pickle.load(stream)
    weights, average, optimizer = jax.tree.map(lambda a: jnp.asarray(np.asarray(a)), trees)
    return State(weights, average, optimizer, n_steps)


def write(state: State, path: Path) -> None:
    """Write a state to a file atomically."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as stream:
        pickle.dump((*jax.tree.map(np.asarray, tuple(state[:3])), state.n_steps), stream)
    part.replace(path)


def _draw_ahead(source: Source, first: int) -> Iterator[tuple[str, Any]]:
    """Yield the batches from step `first` on; another thread draws the next `AHEAD` ones."""
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(source.batch, first + k) for k in range(AHEAD)]
        step = first + AHEAD
        while True:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(source.batch, step))
            step += 1


def n_releases(shape: Shape, scale: float, step: int) -> int:
    """Return the number of releases in a step: more for tasks to which PrivGAM's rule gives more.

    `scale` is the median of n·μ/d over the tasks.
    """
    if shape.bins < 32:
        return 3
    if shape.bins == 32:
        return 3 if step % 3 else 6
    return 12 if scale > 500 and step % 4 else 6


@cache
def make_step(shape: Shape, n_releases: int) -> Any:
    """Return a compiled function for a training step with tasks of this shape."""

    def total(weights: Any, key: Any, batch: Any) -> tuple[Any, Any]:
        def of_task(key: Any, task: Any) -> Any:
            return network.loss(weights, key, task, shape.bins, shape.n_classes, n_releases)

        losses = jax.vmap(of_task)(jax.random.split(key, shape.tasks), batch)
        mean = losses.mean(0) @ jnp.array(OF_MEASURES)
        return (mean * jnp.array(OF_RELEASES[n_releases])).sum(), losses

    @jax.jit
    def step(
        weights: Any, average: Any, optimizer: Any, key: Any, batch: Any, rate: Any, kept: Any
    ) -> tuple[Any, Any, Any, Any]:
        (_, losses), slopes = jax.value_and_grad(total, has_aux=True)(weights, key, batch)
        slopes = jax.tree.map(jnp.nan_to_num, slopes)
        optimizer[1].hyperparams["learning_rate"] = rate
        changes, optimizer = OPTIMIZER.update(slopes, optimizer, weights)
        weights = optax.apply_updates(weights, changes)
        average = jax.tree.map(lambda a, w: kept * a + (1 - kept) * w, average, weights)
        return weights, average, optimizer, losses

    return step


def take_step(shape: Shape, state: State, batch: Any, rate: float, seed: int) -> tuple[State, Any]:
    """Train one step; return the next state, and the mean log-loss after each release.

    The log-loss of a task is divided by the log-loss of the shares of its classes.
    """
    i = state.n_steps
    key = jax.random.fold_in(jax.random.PRNGKey(seed), i)
    kept = jnp.float32(min(MOST_KEPT, (i + 1) / (i + 10)))
    releases = n_releases(shape, float(np.median(batch["scale"])), i)
    *trees, losses = make_step(shape, releases)(*state[:3], key, batch, jnp.float32(rate), kept)
    of_base = [_entropy(y[w > 0]) for y, w in zip(batch["yq"], batch["wq"], strict=True)]
    return State(trees[0], trees[1], trees[2], i + 1), (
        np.asarray(losses)[:, :, 0] / np.array(of_base)[:, None]
    ).mean(0)


def _entropy(labels: Any) -> float:
    shares = np.bincount(labels) / len(labels)
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())


if __name__ == "__main__":
    main()
