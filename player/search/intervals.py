"""Who has the highest value when only an interval is known for each? Max-Prob's estimate at leaves."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from ggp.reasoner import Floats

CHUNK = 4096  # rows at a time: what is computed for them stays in the cache


def win_probabilities(low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """(n, roles): how probable it is that each has the highest value, if values are uniform on [low, high], (n, roles).

    Equation 1 of Hashavit & Markovitch, Max-Prob, 2011, without error of integration. Where low and high are equal the
    value is known, and who has the same value as the highest wins as well; so rows may add up to more than 1.

    >>> win_probabilities([[4, 3, 0]], [[6, 5, 3]]).tolist()
    [[0.875, 0.125, 0.0]]
    """
    lows, highs = np.asarray(low, np.float64), np.asarray(high, np.float64)
    if lows.shape != highs.shape or lows.ndim != 2:
        raise ValueError(f"bounds of shapes {lows.shape} and {highs.shape}, expected (n, roles) twice")
    if not (np.isfinite(lows) & np.isfinite(highs) & (lows <= highs)).all():
        raise ValueError("an interval without end, or whose end is before its beginning")
    found = np.empty(lows.shape)
    for first in range(0, len(lows), CHUNK):
        found[first : first + CHUNK] = _integrated(lows[first : first + CHUNK], highs[first : first + CHUNK])
    return found


def _integrated(low: Floats, high: Floats) -> Floats:
    roles = low.shape[1]
    # Between neighbouring bounds each P(y ≤ x) is linear in x, so their product is a polynomial that so many nodes
    # integrate exactly.
    nodes, weights = _quadrature((roles + 1) // 2)
    bounds = np.sort(np.concatenate([low, high], axis=1), axis=1)  # (n, 2 roles)
    half = np.diff(bounds, axis=1)[:, :, None] / 2  # (n, pieces, 1)
    x = (bounds[:, :-1, None] + half * (1 + nodes)).reshape(len(low), -1)  # (n, pieces × nodes)
    measure = (half * weights).reshape(len(low), -1)
    x = np.concatenate([x, low], axis=1)  # what is known exactly stands at its low bound
    below = _at_most(x[:, None, :], low[:, :, None], high[:, :, None])  # (n, roles, …): P(the role's value ≤ x)
    split = measure.shape[1]
    found = np.empty(low.shape)
    for role in range(roles):
        others = np.prod(np.delete(below, role, axis=1), axis=1)
        first, last = low[:, role, None], high[:, role, None]
        inside = measure * ((first <= x[:, :split]) & (x[:, :split] <= last))
        spread = np.where(first < last, last - first, 1.0)[:, 0]
        known = (first == last)[:, 0]
        found[:, role] = np.where(known, others[:, split + role], (inside * others[:, :split]).sum(axis=1) / spread)
    return np.minimum(found, 1.0)


@cache
def _quadrature(order: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [−1, 1]."""
    return np.polynomial.legendre.leggauss(order)


def _at_most(x: Floats, low: Floats, high: Floats) -> Floats:
    """P(y ≤ x) for y uniform on [low, high]."""
    spread = np.where(low < high, high - low, 1.0)
    return np.where(low < high, np.clip((x - low) / spread, 0.0, 1.0), x >= low)
