"""Max-Prob's interval estimate: equation 1 of the paper, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ggp.reasoner import Floats
from player.search.intervals import win_probabilities

Polynomial = list[Fraction]  # coefficients, the constant first


def product(p: Polynomial, q: Polynomial) -> Polynomial:
    found = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            found[i + j] += a * b
    return found


def integral(p: Polynomial, low: Fraction, high: Fraction) -> Fraction:
    return sum((c * (high ** (k + 1) - low ** (k + 1)) / (k + 1) for k, c in enumerate(p)), Fraction(0))


def slow(low: list[Fraction], high: list[Fraction]) -> list[float]:
    """Equation 1 in fractions, one piece after the other."""

    def at_most(role: int, x: Fraction) -> Polynomial:
        """P(value of the role ≤ t) as a polynomial in t, for t on the piece around x."""
        if x < low[role]:
            return [Fraction(0)]
        if x >= high[role]:
            return [Fraction(1)]
        spread = high[role] - low[role]
        return [-low[role] / spread, 1 / spread]

    found = []
    for role in range(len(low)):
        others = [other for other in range(len(low)) if other != role]
        first, last = low[role], high[role]
        if first == last:
            pieces = [(first, first)]
        else:
            cuts = sorted({x for x in (*low, *high) if first <= x <= last})
            pieces = list(pairwise(cuts))
        total = Fraction(0)
        for a, b in pieces:
            density: Polynomial = [Fraction(1)]
            for other in others:
                density = product(density, at_most(other, (a + b) / 2))
            if first == last:
                total += sum((c * a**k for k, c in enumerate(density)), Fraction(0))
            else:
                total += integral(density, a, b) / (last - first)
        found.append(float(total))
    return found


def intervals(roles: int, n: int, seed: int) -> tuple[Floats, Floats]:
    """Small whole numbers, so that bounds coincide often; every fourth is a point."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 9, (n, roles, 2)), axis=2).astype(float)
    ends[..., 1] = np.where(rng.random((n, roles)) < 0.25, ends[..., 0], ends[..., 1])
    return ends[..., 0], ends[..., 1]


def test_figure_2_of_the_paper() -> None:
    found = win_probabilities([[4, 3, 0], [4, 3, 2], [4, 3, 3]], [[6, 5, 3], [6, 5, 4], [6, 5, 3]])
    np.testing.assert_allclose(found, [[0.875, 0.125, 0]] * 3, atol=1e-15)


@pytest.mark.parametrize("roles", [1, 2, 3, 4, 5])
def test_equal_to_integration_in_fractions(roles: int) -> None:
    low, high = intervals(roles, 200, roles)
    rows = zip(low.tolist(), high.tolist(), strict=True)
    expected = [slow([Fraction(x) for x in a], [Fraction(x) for x in b]) for a, b in rows]
    np.testing.assert_allclose(win_probabilities(low, high), expected, atol=1e-12)


@pytest.mark.parametrize("roles", [2, 3, 5])
def test_equal_to_drawing_the_values(roles: int) -> None:
    low, high = intervals(roles, 20, 10 + roles)
    drawn = np.random.default_rng(0).uniform(low, high, (40_000, *low.shape))
    drawn = np.where(low == high, low, drawn)
    share = (drawn == drawn.max(axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(win_probabilities(low, high), share, atol=0.015)


def test_equal_values_all_win() -> None:
    assert win_probabilities([[5, 5, 3, 5]], [[5, 5, 3, 5]]).tolist() == [[1, 1, 0, 1]]


def test_a_value_at_the_upper_bound_of_another_wins_for_sure() -> None:
    assert win_probabilities([[5, 2]], [[5, 5]]).tolist() == [[1, 0]]
    assert win_probabilities([[2, 2]], [[2, 6]]).tolist() == [[0, 1]]


def test_without_points_probabilities_add_up_to_1_and_do_not_depend_on_scale_or_order() -> None:
    rng = np.random.default_rng(4)
    low = rng.random((300, 4))
    high = low + 0.01 + rng.random((300, 4))
    found = win_probabilities(low, high)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(win_probabilities(50 * low - 7, 50 * high - 7), found, atol=1e-9)
    np.testing.assert_allclose(win_probabilities(low[:, ::-1], high[:, ::-1]), found[:, ::-1], atol=1e-12)


def test_many_rows_are_as_good_as_one() -> None:
    low, high = intervals(3, 10_000, 1)
    found = win_probabilities(low, high)
    for i in (0, 4095, 4096, 9999):
        np.testing.assert_array_equal(found[i], win_probabilities(low[[i]], high[[i]])[0])
    assert win_probabilities(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)


def test_the_narrowest_interval_there_is() -> None:
    found = win_probabilities([[1.0, 0.0, 1.0]], [[np.nextafter(1.0, 2), 1.0, 1.0]])
    assert np.isfinite(found).all()
    assert found[0, 1] == pytest.approx(0, abs=1e-9)


def test_bounds_must_be_intervals() -> None:
    with pytest.raises(ValueError, match="whose end is before its beginning"):
        win_probabilities([[5.0]], [[4.0]])
    with pytest.raises(ValueError, match="an interval without end"):
        win_probabilities([[5.0]], [[np.inf]])
    with pytest.raises(ValueError, match=r"bounds of shapes \(1, 2\) and \(1, 1\), expected \(n, roles\) twice"):
        win_probabilities([[5.0, 4.0]], [[6.0]])
