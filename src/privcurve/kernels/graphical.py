"""Distributions over many columns as tables of a junction tree: its loops.

Tables of all cliques stand one after another in one array, the root first and parents before
children; so do the tables of separators, which each clique has with its parent (the root's has one
cell). An index says for each cell of a clique which cell of a smaller table it belongs to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.arithmetic import exp, log
from privcurve.kernels.jit import jit

Index = NDArray[np.int32]

# The loss must fall by this part of what the slope promises; a step is halved at most so often.
ARMIJO, HALVINGS = 0.5, 30


class CliqueCells(NamedTuple):
    """Where the cells of the cliques of a junction tree are, and of their separators."""

    starts: Ints  # (n_cliques + 1,): where each clique's cells begin
    # (n_cells,): the cell of its clique's separator, for each cell; numbered through all separators
    own: Index
    separated: Ints  # (n_cliques + 1,): where the cells of each clique's separator begin
    parents: Ints  # (n_cliques,): −1 for the root
    # The same for the cells of each clique's parent: where the index of a clique begins.
    above_starts: Ints
    above: Index


class TableCells(NamedTuple):
    """Where the cells of measured tables are in cliques."""

    cliques: Ints  # (n_tables,): a clique that has all columns of each table
    starts: Ints  # (n_tables + 1,): where the places of each table begin
    places: Index  # the cell of the table for each cell of that clique; numbered through all tables


@jit
def _clique_size(adjacent: Bools, widths: Floats, left: Bools, v: int) -> float:
    """Return the cells of a column's clique if it were eliminated now."""
    size = widths[v]
    for u in range(len(widths)):
        if adjacent[v, u] and left[u] and u != v:
            size *= widths[u]
    return float(size)


@jit
def triangulate(
    adjacent: Bools, widths: Floats, most: float, cliques: Bools
) -> tuple[float, Bools]:
    """Eliminate columns, always one whose clique is the smallest table.

    Parameters
    ----------
    adjacent : ndarray of shape (n, n)
        Which columns are in a table together; edges are added to it in place.
    widths : ndarray of shape (n,)
        How many places each column has.
    most : float
        Stop as soon as cliques have more cells than this.
    cliques : ndarray of shape (n, n)
        Output: the columns of the clique of each step.

    Returns
    -------
    total : float
        Cells of all cliques that are in no other.
    kept : ndarray of shape (n,)
        Which steps' cliques these are.
    """
    n = len(widths)
    kept, left = np.ones(n, np.bool_), np.ones(n, np.bool_)
    places, members = np.zeros(n, np.int64), np.zeros(n, np.int64)
    sizes, now = np.zeros(n), np.zeros(n)
    for v in range(n):
        now[v] = _clique_size(adjacent, widths, left, v)
    cliques[:] = False
    for step in range(n):
        best = -1
        for v in range(n):
            if left[v] and (best < 0 or now[v] < now[best]):
                best = v
        left[best] = False
        places[best], sizes[step] = step, now[best]
        cliques[step, best] = True
        members[step] = 1
        for u in range(n):
            if left[u] and adjacent[best, u]:
                cliques[step, u] = True
                members[step] += 1
                for w in range(n):
                    if left[w] and adjacent[best, w] and w != u:
                        adjacent[u, w] = True
        for u in range(n):
            if cliques[step, u] and left[u]:
                now[u] = _clique_size(adjacent, widths, left, u)
    total = 0.0
    for step in range(n):
        if kept[step]:
            total += sizes[step]
            if total > most:
                return total, kept
        following = n
        for u in range(n):
            if cliques[step, u] and places[u] > step:
                following = min(following, places[u])
        # The clique of the next member holds all later members.
        if following < n and members[step] - 1 == members[following]:
            kept[following] = False
    return total, kept


@jit
def triangulated_sizes(adjacent: Bools, widths: Floats, most: float, candidates: Ints) -> Floats:
    """Return the cells of a triangulation if columns of one candidate more were in one table.

    Parameters
    ----------
    adjacent, widths, most
        As of :func:`triangulate`; `adjacent` is left as it is.
    candidates : ndarray of shape (n_candidates, k)
        Columns; −1 is none.

    Returns
    -------
    ndarray of shape (n_candidates,)
        Exact up to `most`.
    """
    sizes = np.zeros(len(candidates))
    cliques = np.zeros(adjacent.shape, np.bool_)
    for i in range(len(candidates)):
        graph = adjacent.copy()
        for a in candidates[i]:
            for b in candidates[i]:
                if a >= 0 and b >= 0 and a != b:
                    graph[a, b] = True
        sizes[i] = triangulate(graph, widths, most, cliques)[0]
    return sizes


@jit
def marginals(tree: CliqueCells, potentials: Floats, beliefs: Floats) -> None:
    """Turn log potentials of cliques into their marginals, leaves to root and back.

    Parameters
    ----------
    tree : CliqueCells
    potentials : ndarray of shape (n_cells,)
        Messages are added in place.
    beliefs : ndarray of shape (n_cells,)
        Output; each clique's add up to 1.
    """
    starts, own, separated, parents, above_starts, above = tree
    n = len(parents)
    largest = np.full(separated[n], -np.inf)
    sums = np.zeros(separated[n])
    for k in range(n - 1, -1, -1):
        for i in range(starts[k], starts[k + 1]):
            largest[own[i]] = max(largest[own[i]], potentials[i])
        for i in range(starts[k], starts[k + 1]):
            beliefs[i] = exp(potentials[i] - largest[own[i]])
            sums[own[i]] += beliefs[i]
        if parents[k] >= 0:
            first, shift = starts[parents[k]], above_starts[k]
            # The message to the parent: the logarithm of the sum below.
            for s in range(separated[k], separated[k + 1]):
                largest[s] += log(sums[s])
            for i in range(above_starts[k + 1] - shift):
                potentials[first + i] += largest[above[shift + i]]
    # Now `beliefs` holds each clique's probabilities given its separator, not yet normalised.
    ratios = np.zeros(separated[n])
    for k in range(n):
        if parents[k] < 0:
            ratios[own[starts[k]]] = 1.0
        else:
            first, shift = starts[parents[k]], above_starts[k]
            for i in range(above_starts[k + 1] - shift):
                ratios[above[shift + i]] += beliefs[first + i]
        for i in range(starts[k], starts[k + 1]):
            beliefs[i] *= ratios[own[i]] / sums[own[i]]


@jit
def _write_marginals(
    tree: CliqueCells, measured: TableCells, theta: Floats, beliefs: Floats, tables: Floats
) -> None:
    """Fill in the marginals of cliques and of measured tables, by the latter's parameters."""
    cliques, starts, places = measured
    potentials = np.zeros(len(beliefs))
    for m in range(len(cliques)):
        first, shift = tree.starts[cliques[m]], starts[m]
        for i in range(starts[m + 1] - shift):
            potentials[first + i] += theta[places[shift + i]]
    marginals(tree, potentials, beliefs)
    tables[:] = 0.0
    for m in range(len(cliques)):
        first, shift = tree.starts[cliques[m]], starts[m]
        for i in range(starts[m + 1] - shift):
            tables[places[shift + i]] += beliefs[first + i]


@jit
def descend(
    tree: CliqueCells,
    measured: TableCells,
    aims: Floats,
    weights: Floats,
    theta: Floats,
    beliefs: Floats,
    step: float,
    n_steps: int,
    tolerance: float,
) -> tuple[float, float]:
    """Come nearer to measured tables by entropic mirror descent, with a line search.

    The loss is half the weighted sum of squares of marginals less `aims`; a step adds a multiple of
    its gradient to the parameters.

    Parameters
    ----------
    tree : CliqueCells
    measured : TableCells
    aims, weights : ndarray of shape (n_measured,)
    theta : ndarray of shape (n_measured,)
        Parameters; changed in place.
    beliefs : ndarray of shape (n_cells,)
        Output: the marginals of cliques.
    step : float
        How long a step is tried first; each next one is twice the last.
    n_steps : int
    tolerance : float
        Stop where a step gains less than this part of the loss.

    Returns
    -------
    step, loss : float
        The last step's length, and the loss.
    """
    tables, others = np.zeros(len(aims)), np.zeros(len(aims))
    trial = np.zeros(len(aims))
    _write_marginals(tree, measured, theta, beliefs, tables)
    apart = tables - aims
    loss = 0.5 * (weights * (apart * apart)).sum()
    for _ in range(n_steps):
        gradient = weights * (tables - aims)
        done = True
        step *= 2
        for _ in range(HALVINGS):
            for i in range(len(theta)):
                trial[i] = theta[i] - step * gradient[i]
            _write_marginals(tree, measured, trial, beliefs, others)
            apart = others - aims
            new = 0.5 * (weights * (apart * apart)).sum()
            if loss - new >= ARMIJO * (gradient * (tables - others)).sum():
                done = loss - new <= tolerance * loss
                break
            step /= 2
        else:
            # No step gains anything: stay.
            _write_marginals(tree, measured, theta, beliefs, tables)
            return step, loss
        for i in range(len(theta)):
            theta[i], tables[i] = trial[i], others[i]
        loss = new
        if done:
            break
    return step, loss


@jit
def carry(ratios: Floats, cells: Floats, before: Index, after: Index, carried: Floats) -> None:
    """Carry a column's joint tables over a clique, from one part of its columns to another.

    Parameters
    ----------
    ratios : ndarray of shape (n_before, width)
        The chances of the column's places given the first part.
    cells : ndarray of shape (n_cells,)
        The clique's table.
    before, after : ndarray of shape (n_cells,)
        The cells of the first part, and of the second.
    carried : ndarray of shape (n_after, width)
        The joint table of the second part and the column; added to.
    """
    for i in range(len(cells)):
        for a in range(ratios.shape[1]):
            carried[after[i], a] += ratios[before[i], a] * cells[i]
