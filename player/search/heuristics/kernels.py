"""Sums over the bits of states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ggp.propnet.kernels import trailing

jit = njit(nogil=True, cache=True)

_ONE, _ZERO = np.uint64(1), np.uint64(0)


@jit
def add(rows: Any, weights: Any, left: Any, right: Any, pairs: Any, found: Any) -> None:
    """Adds to row i of `found` the weights of the bits that are set in row i of `rows`, and of pairs of them.

    Bits a and b together weigh `pairs[left[a], right[b]]`, nothing where one of these is −1.
    """
    roles = weights.shape[1]
    lefts, rights = np.empty(len(left), np.int64), np.empty(len(right), np.int64)
    for i in range(len(rows)):
        m = n = 0
        for word in range(rows.shape[1]):
            bits = rows[i, word]
            while bits != _ZERO:
                bit = 64 * word + trailing(bits)
                bits &= bits - _ONE
                for role in range(roles):
                    found[i, role] += weights[bit, role]
                if left[bit] >= 0:
                    lefts[m] = left[bit]
                    m += 1
                if right[bit] >= 0:
                    rights[n] = right[bit]
                    n += 1
        for a in lefts[:m]:
            for b in rights[:n]:
                for role in range(roles):
                    found[i, role] += pairs[a, b, role]
