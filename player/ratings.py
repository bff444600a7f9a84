"""How strong players are, by their results: shares of wins and ratings, both with 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Z = 1.959964  # 95 % of a normal distribution lie within so many standard deviations
ELO = 400 / log(10)  # rating points of an e-fold in the odds
PRIOR = 1.0  # drawn matches that everybody is taken to have played, spread over all others


def wilson(score: float, matches: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a mean score of 0…1. Too wide, if anything, where matches are drawn.

    >>> [round(end, 3) for end in wilson(0.75, 20)]
    [0.531, 0.888]
    """
    if not matches:
        return 0.0, 1.0
    scale = 1 + Z**2 / matches
    middle = (score + Z**2 / (2 * matches)) / scale
    half = Z / scale * sqrt(score * (1 - score) / matches + (Z / (2 * matches)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Ratings:
    """On the Elo scale: 400 points more are odds of ten to one.

    0 is the mean of the players, each weighted by what the results say about it: somebody who always loses, by an
    unknown distance, does not blur the others.
    """

    elo: Floats  # (players,)
    covariance: Floats  # (players, players)

    @property
    def intervals(self) -> Floats:
        """The ends of the 95 % intervals, (players, 2)."""
        half = Z * np.sqrt(np.diag(self.covariance))
        return np.stack([self.elo - half, self.elo + half], axis=1)


def bradley_terry(wins: Floats) -> Ratings:
    """The ratings that make these results likeliest (Bradley and Terry 1952).

    `wins[i, j]` is how often i was better than j, a draw being half a win for both. A weak prior, `PRIOR`, keeps a
    player finite who lost nothing. The covariance is the inverse of the Fisher information.

    >>> bradley_terry(np.array([[0, 75e4], [25e4, 0]])).elo.round(1)
    array([ 95.4, -95.4])
    """
    players = len(wins)
    assert players > 1, "one player alone has no rating"
    wins = wins + PRIOR / 2 / (players - 1)
    np.fill_diagonal(wins, 0)
    met = wins + wins.T
    theta = np.zeros(players)
    for _ in range(200):
        expected = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        known = met * expected * expected.T
        weights = known.sum(axis=1)
        covariance = np.linalg.pinv(np.diag(weights) - known, hermitian=True)
        step = covariance @ (wins - met * expected).sum(axis=1)
        theta += step / max(1.0, abs(step).max())  # Newton's, but no leap: far out the curve is flat
        if abs(step).max() < 1e-9:
            break
    centre = np.eye(players) - weights / weights.sum()  # takes the weighted mean away
    return Ratings(ELO * centre @ theta, ELO**2 * centre @ covariance @ centre.T)
