"""The loops of the batched search that NumPy has no words for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

jit = njit(nogil=True, cache=True)

_U = np.uint64
BLOCK = 32


@jit
def place(row: Any, mask: int) -> Any:
    """Where a row is looked for first."""
    h = _U(0x9E3779B97F4A7C15)
    for word in row:
        h = (h ^ word) * _U(0xFF51AFD7ED558CCD)
        h ^= h >> _U(32)
    return np.int64(h & _U(mask))


@jit
def number(rows: Any, stored: Any, count: int, slots: Any, ids: Any, origin: Any) -> int:
    """Numbers equal rows alike, from 0 on in the order in which they are first seen; how many there are then.

    `stored` has the `count` rows that are known, with room for all of these, and `slots` is an open hash table of their
    numbers, −1 where free, with a power of two places. `ids[i]` becomes the number of row i, and where that is new,
    `origin[number]` becomes i.
    """
    mask = len(slots) - 1
    words = rows.shape[1]
    places = np.empty(BLOCK, np.int64)
    touched = _U(0)
    for begin in range(0, len(rows), BLOCK):
        size = min(BLOCK, len(rows) - begin)
        for k in range(size):
            places[k] = place(rows[begin + k], mask)
        for k in range(size):  # what will be asked for is fetched from memory for many rows at once
            touched ^= stored[max(slots[places[k]], 0), 0]
        for k in range(size):
            i = begin + k
            at = places[k]
            while True:
                known = slots[at]
                if known < 0:
                    slots[at] = count
                    stored[count] = rows[i]
                    ids[i] = count
                    origin[count] = i
                    count += 1
                    break
                same = True
                for word in range(words):
                    if stored[known, word] != rows[i, word]:
                        same = False
                        break
                if same:
                    ids[i] = known
                    break
                at = (at + 1) & mask
    if touched == _U(0) and count < 0:  # never; but it keeps the compiler from leaving out the fetching
        return -1
    return count


@jit
def rehash(stored: Any, count: int, slots: Any) -> None:
    """Puts the rows into an empty table."""
    mask = len(slots) - 1
    for i in range(count):
        at = place(stored[i], mask)
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = i


@jit
def options(first: Any, edges: Any, joint: Any, sizes: Any) -> None:
    """How many moves each role has in nodes whose joint moves are all combinations, the last role's changing fastest.

    Node i has `edges[i]` joint moves from `first[i]` on; `sizes[i, role]` is set.
    """
    for i in range(len(first)):
        stride = 1
        for role in range(joint.shape[1] - 1, -1, -1):
            size = 1
            while size * stride < edges[i] and joint[first[i] + size * stride, role] != joint[first[i], role]:
                size += 1
            sizes[i, role] = size
            stride *= size


@jit
def regret_matching(first: Any, sizes: Any, local: Any, payoffs: Any, given: Any, rounds: int, found: Any) -> None:
    """Each role's odds in stage games, where all choose at once: the average play of regret matching.

    Game i has the joint moves from `first[i]` to `first[i + 1]`, of which k plays move `local[k, role]` of the
    `sizes[i, role]` that the role has, worth `payoffs[k, role]` to it. Where `given[k, role]` is a number, the role is
    known to play its move with that probability. `found[k, role]` becomes the probability of the role's move.
    """
    roles = sizes.shape[1]
    most = sizes.max()
    regrets, play, total = np.zeros((roles, most)), np.zeros((roles, most)), np.zeros((roles, most))
    gain = np.zeros((roles, most))
    known = np.zeros(roles, np.bool_)
    for game in range(len(sizes)):
        begin, end = first[game], first[game + 1]
        regrets[:] = 0
        total[:] = 0
        known[:] = False
        for k in range(begin, end):
            for role in range(roles):
                if not np.isnan(given[k, role]):
                    known[role] = True
                    play[role, local[k, role]] = given[k, role]
        for step in range(rounds):
            for role in range(roles):
                if known[role]:
                    continue
                size = sizes[game, role]
                positive = 0.0
                for move in range(size):
                    positive += max(regrets[role, move], 0.0)
                for move in range(size):
                    play[role, move] = max(regrets[role, move], 0.0) / positive if positive > 0 else 1.0 / size
                    total[role, move] += (step + 1) * play[role, move]
            gain[:] = 0
            for k in range(begin, end):
                for role in range(roles):
                    if known[role] or sizes[game, role] == 1:
                        continue
                    others = 1.0
                    for other in range(roles):
                        if other != role:
                            others *= play[other, local[k, other]]
                    gain[role, local[k, role]] += others * payoffs[k, role]
            for role in range(roles):
                if known[role]:
                    continue
                size = sizes[game, role]
                mean = 0.0
                for move in range(size):
                    mean += play[role, move] * gain[role, move]
                for move in range(size):  # regrets below zero are forgotten, which converges faster
                    regrets[role, move] = max(regrets[role, move] + gain[role, move] - mean, 0.0)
        for k in range(begin, end):
            for role in range(roles):
                if known[role]:
                    found[k, role] = play[role, local[k, role]]
                else:
                    found[k, role] = total[role, local[k, role]] * 2.0 / (rounds * (rounds + 1.0))
