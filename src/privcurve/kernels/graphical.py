"""Fit and evaluate distributions over many columns, stored as the tables of a junction tree.

One array concatenates the tables of all cliques, the root first and parents before children.
Another array concatenates the tables of the cliques' separators in the same order. The separator of
a clique is the set of columns that the clique shares with its parent (the root's separator has no
column, so its table has one cell). An index maps each cell of a clique to a cell of a smaller
table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.arithmetic import exp, log
from privcurve.kernels.jit import jit

Index = NDArray[np.int32]

# A step is accepted if the loss decreases by at least ARMIJO times the decrease that the gradient
# predicts. Otherwise the step is halved, at most HALVINGS times.
ARMIJO, HALVINGS = 0.5, 30


class CliqueCells(NamedTuple):
    """Positions of the cells of a junction tree's cliques and separators."""

    starts: Ints  # (n_cliques + 1,): the first cell of each clique, then the number of all cells
    # (n_cells,): for each cell of a clique, the position of the corresponding separator cell in the
    # array of all separators.
    own: Index
    separated: Ints  # (n_cliques + 1,): the first cell of each separator, then the number of cells
    parents: Ints  # (n_cliques,): the position of each clique's parent; −1 for the root
    # (n_cliques + 1,): the position in `above` where the part of each clique starts; the root's
    # part is empty.
    above_starts: Ints
    # For each clique, an index from the cells of the parent to the cells of the clique's separator.
    above: Index


class TableCells(NamedTuple):
    """Positions of the cells of measured tables in the tables of cliques."""

    cliques: Ints  # (n_tables,): for each table, a clique that has all of its columns
    starts: Ints  # (n_tables + 1,): the position in `places` where the part of each table starts
    # For each table, an index from the cells of its clique to the array of all tables' cells.
    places: Index


@jit
def _clique_size(adjacent: Bools, widths: Floats, left: Bools, v: int) -> float:
    """Return the number of cells of the clique that the elimination of column `v` would create.

    `left` says which columns are not yet eliminated.
    """
    size = widths[v]
    for u in range(len(widths)):
        if adjacent[v, u] and left[u] and u != v:
            size *= widths[u]
    return float(size)


@jit
def triangulate(
    adjacent: Bools, widths: Floats, most: float, cliques: Bools
) -> tuple[float, Bools]:
    """Triangulate a graph: eliminate columns one by one, always the one with the smallest clique.

    Parameters
    ----------
    adjacent : ndarray of shape (n, n)
        Whether two columns share a table. The function adds the edges of the triangulation.
    widths : ndarray of shape (n,)
        Number of values of each column.
    most : float
        Limit of the number of cells: above it, the function stops adding up cells.
    cliques : ndarray of shape (n, n)
        Output: the columns of the clique of each step.

    Returns
    -------
    total : float
        Number of cells of all maximal cliques, or a number above `most`.
    kept : ndarray of shape (n,)
        Whether the clique of each step is maximal.
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
        # This step eliminated one column of its clique. Let u be the clique's column that is
        # eliminated next: the clique of u has all columns that remain of this step's clique. If the
        # clique of u has no further columns, it is a part of this step's clique: not maximal.
        if following < n and members[step] - 1 == members[following]:
            kept[following] = False
    return total, kept


@jit
def triangulated_sizes(adjacent: Bools, widths: Floats, most: float, candidates: Ints) -> Floats:
    """Return the number of cells of the triangulation after adding each candidate as a table.

    Parameters
    ----------
    adjacent, widths, most
        See :func:`triangulate`; `adjacent` is not changed.
    candidates : ndarray of shape (n_candidates, k)
        Columns of each candidate, padded with −1.

    Returns
    -------
    ndarray of shape (n_candidates,)
        The number for each candidate alone: exact up to `most`; larger numbers only exceed `most`.
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
    """Compute the marginals of cliques from their log-potentials by message passing.

    Messages go from the leaves to the root and back.

    Parameters
    ----------
    tree : CliqueCells
    potentials : ndarray of shape (n_cells,)
        Log-potentials of the cliques' cells. The function adds messages in place.
    beliefs : ndarray of shape (n_cells,)
        Output; the cells of each clique add up to 1.
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
            # Compute the message to the parent: the logarithm of sums over the columns that are not
            # in the separator.
            for s in range(separated[k], separated[k + 1]):
                largest[s] += log(sums[s])
            for i in range(above_starts[k + 1] - shift):
                potentials[first + i] += largest[above[shift + i]]
    # Now `beliefs` has the probabilities of each clique's cells given its separator, not yet
    # normalised. Multiply them by the marginals of the separators, from the root to the leaves.
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
    """Write the marginals of cliques and of measured tables for the parameters `theta`."""
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
    """Fit marginals to measured tables by entropic mirror descent with a line search.

    The loss is half the weighted sum of squares of (marginals − `aims`). A step subtracts from the
    parameters a multiple of the gradient of the loss with respect to the marginals.

    Parameters
    ----------
    tree : CliqueCells
    measured : TableCells
    aims, weights : ndarray of shape (n_measured,)
        The cells of all measured tables, and their weights.
    theta : ndarray of shape (n_measured,)
        The model's parameters, which are changed in place.
    beliefs : ndarray of shape (n_cells,)
        Output: the marginals of cliques.
    step : float
        Half the length of the first trial step. Each later trial doubles the last step's length.
    n_steps : int
    tolerance : float
        Stop if a step decreases the loss by at most this share.

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
            # No trial step was accepted: compute the marginals of the last point again.
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
    """Compute the joint table of a column and a part of a clique, from another part of the clique.

    The column is not in the clique. `before` selects the first part of the clique's columns, whose
    joint distribution with the column is known; `after` selects the second part. Given the first
    part, the column must be independent of the rest of the clique.

    Parameters
    ----------
    ratios : ndarray of shape (n_before, width)
        Conditional probabilities of the column's values, given the first part.
    cells : ndarray of shape (n_cells,)
        The clique's table.
    before, after : ndarray of shape (n_cells,)
        For each cell of the clique: the cell of the first part's table, and the cell of the second
        part's table.
    carried : ndarray of shape (n_after, width)
        Output: the function adds the joint table of the second part and the column.
    """
    for i in range(len(cells)):
        for a in range(ratios.shape[1]):
            carried[after[i], a] += ratios[before[i], a] * cells[i]
