"""Intervals and ratings against known values and simulated results."""

from __future__ import annotations

import numpy as np
import pytest

from player.ratings import ELO, Floats, Z, bradley_terry, wilson


def results(*pairs: tuple[int, int, float, float]) -> Floats:
    """(i, j, wins of i, wins of j) as a matrix."""
    wins = np.zeros((1 + max(max(i, j) for i, j, *_ in pairs),) * 2)
    for i, j, ours, theirs in pairs:
        wins[i, j], wins[j, i] = ours, theirs
    return wins


@pytest.mark.parametrize(
    ("score", "matches", "interval"),
    [(0.5, 10, (0.2366, 0.7634)), (0.0, 20, (0.0, 0.1611)), (1.0, 20, (0.8389, 1.0)), (0.81, 263, (0.7584, 0.8529))],
)
def test_wilson_intervals_of_the_literature(score: float, matches: int, interval: tuple[float, float]) -> None:
    assert wilson(score, matches) == pytest.approx(interval, abs=5e-4)


def test_without_matches_everything_is_possible() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("share", "points"), [(0.5, 0.0), (0.64, 99.95), (0.75, 190.85), (10 / 11, 400.0)])
def test_a_share_of_wins_is_a_difference_on_the_elo_scale(share: float, points: float) -> None:
    first, second = bradley_terry(results((0, 1, 1e6 * share, 1e6 * (1 - share)))).elo
    assert first - second == pytest.approx(points, abs=0.01)


def test_ratings_add_up_along_a_chain() -> None:
    elo = bradley_terry(results((0, 1, 2e6, 1e6), (1, 2, 3e6, 1e6))).elo
    assert elo[0] - elo[2] == pytest.approx(ELO * np.log(6), abs=0.01)


def test_many_matches_give_the_textbook_deviation_of_a_difference() -> None:
    ratings = bradley_terry(results((0, 1, 7500, 2500)))
    variance = np.array([1, -1]) @ ratings.covariance @ np.array([1, -1])
    assert np.sqrt(variance) == pytest.approx(ELO / np.sqrt(10_000 * 0.75 * 0.25), rel=1e-3)
    assert ratings.intervals[0] == pytest.approx(ratings.elo[0] + np.array([-1, 1]) * Z * np.sqrt(variance) / 2)


@pytest.mark.parametrize("wins", [1, 20, 1000, 10**7])
def test_who_lost_nothing_has_a_finite_rating_and_a_wide_interval(wins: int) -> None:
    ratings = bradley_terry(results((0, 1, wins, 0)))
    assert 0 < ratings.elo[0] < 2000
    assert np.ptp(ratings.intervals[0]) > 200


def test_the_order_of_the_players_does_not_matter() -> None:
    wins = np.random.default_rng(1).integers(0, 30, (5, 5)).astype(float)
    order = [3, 1, 4, 0, 2]
    assert bradley_terry(wins[np.ix_(order, order)]).elo == pytest.approx(bradley_terry(wins).elo[order])


def test_who_always_loses_does_not_blur_the_others() -> None:
    two = bradley_terry(results((0, 1, 60, 40)))
    three = bradley_terry(results((0, 1, 60, 40), (0, 2, 1000, 0), (1, 2, 1000, 0)))
    assert np.ptp(three.intervals[0]) < 1.1 * np.ptp(two.intervals[0])


def test_intervals_of_differences_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    truth = np.array([-1.0, -0.3, 0.0, 0.4, 0.9])
    p = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
    upper = np.triu_indices(5, 1)
    covered = []
    for _ in range(300):
        wins = np.triu(rng.binomial(40, p), 1).astype(float)
        wins += np.tril(40 - wins.T, -1)
        ratings = bradley_terry(wins)
        own = np.diag(ratings.covariance)
        error = np.subtract.outer(ratings.elo, ratings.elo) - ELO * np.subtract.outer(truth, truth)
        deviation = np.sqrt(np.maximum(0, np.add.outer(own, own) - 2 * ratings.covariance))
        covered.append((abs(error) <= Z * deviation)[upper].mean())
    assert 0.93 < np.mean(covered) < 0.97
