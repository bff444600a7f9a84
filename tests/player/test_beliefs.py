"""Beliefs over models: the sampler against sums over all that may have been."""

from __future__ import annotations

from itertools import product
from math import exp, lgamma

import numpy as np
import pytest

from ggp.reasoner import Floats
from player.search.beliefs import Belief, exact


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def enumerated(alpha: list[float], likelihoods: Floats) -> Floats:
    """The posterior mean by every assignment of models to choices."""
    total, mean = 0.0, np.zeros(len(alpha))
    for models in product(range(len(alpha)), repeat=len(likelihoods)):
        made = np.array([a + models.count(j) for j, a in enumerate(alpha)])
        weight = exp(sum(map(lgamma, made))) * float(
            np.prod([row[j] for row, j in zip(likelihoods, models, strict=True)])
        )
        total += weight
        mean += weight * made / made.sum()
    return np.asarray(mean / total)


def after(alpha: list[float], likelihoods: Floats, **settings: int) -> Belief:
    belief = Belief(alpha, rng(), **settings)
    belief.observe(likelihoods)
    return belief


HISTORIES = [
    (models, choices, seed) for models, longest in ((2, 10), (3, 7), (4, 5)) for choices, seed in ((1, 0), (longest, 1))
]


@pytest.mark.parametrize(("models", "choices", "seed"), HISTORIES)
def test_exact_is_the_sum_over_all_assignments(models: int, choices: int, seed: int) -> None:
    alpha = list(rng(seed).uniform(0.3, 2, models))
    likelihoods = rng(seed).random((choices, models))
    np.testing.assert_allclose(exact(alpha, likelihoods), enumerated(alpha, likelihoods), atol=1e-12)


@pytest.mark.parametrize("models", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_the_sampler_agrees_with_the_exact_posterior(models: int, seed: int) -> None:
    likelihoods = rng(seed).dirichlet(np.full(models, 0.5), 12)
    alpha = [1.0] * models
    np.testing.assert_allclose(after(alpha, likelihoods, sweeps=5000).mean, exact(alpha, likelihoods), atol=1e-2)


def test_more_sweeps_come_closer() -> None:
    likelihoods = rng(3).random((12, 3))
    truth = exact([1, 1, 1], likelihoods)

    def error(sweeps: int) -> float:
        beliefs = [Belief([1, 1, 1], rng(seed), sweeps=sweeps) for seed in range(10)]
        for belief in beliefs:
            belief.observe(likelihoods)
        return float(np.mean([abs(belief.mean - truth).max() for belief in beliefs]))

    assert error(20_000) < error(200) / 4 < 0.02


def test_the_sampler_agrees_with_a_long_history_of_an_epsilon_greedy_player() -> None:
    """Two models, 300 choices: four in five by the first, 5 legal moves, ε = 0.3."""
    generator = rng(5)
    right = generator.random(300) < 0.8
    likelihoods = np.where(right[:, None], [0.76, 0.06], [0.06, 0.76])
    belief = after([1, 1], likelihoods)
    np.testing.assert_allclose(belief.mean, exact([1, 1], likelihoods), atol=1e-2)
    assert belief.probability(0) > 0.75


def test_where_models_exclude_each_other_the_mean_is_a_matter_of_counting() -> None:
    likelihoods = np.eye(3)[[0, 0, 2, 0, 2]]
    np.testing.assert_allclose(after([1, 2, 3], likelihoods).mean, [4 / 11, 2 / 11, 5 / 11], atol=1e-12)
    np.testing.assert_allclose(exact([1, 2, 3], likelihoods), [4 / 11, 2 / 11, 5 / 11], atol=1e-12)


def test_one_choice_is_exact() -> None:
    np.testing.assert_allclose(after([1, 3], np.array([[0.6, 0.2]])).mean, exact([1, 3], [[0.6, 0.2]]), atol=1e-12)


def test_before_any_choice_the_mean_is_that_of_the_prior() -> None:
    assert Belief([1, 3], rng()).mean.tolist() == [0.25, 0.75] == exact([1, 3], []).tolist()


def test_choices_that_nobody_explains_or_all_alike_tell_nothing() -> None:
    plain, padded = Belief([1, 1], rng()), Belief([1, 1], rng())
    for belief in (plain, padded):
        belief.observe([0.9, 0.1])
    padded.observe([0, 0])
    padded.observe([0.3, 0.3])
    assert plain.mean.tolist() == padded.mean.tolist()
    np.testing.assert_allclose(exact([1, 1], [[0.9, 0.1], [0.0, 0.0], [0.3, 0.3]]), exact([1, 1], [[0.9, 0.1]]))


def test_only_how_likelihoods_compare_matters() -> None:
    likelihoods = rng().random((20, 2))
    tiny = likelihoods * 1e-300
    np.testing.assert_allclose(after([1, 1], tiny).mean, after([1, 1], likelihoods).mean)


def test_the_same_generator_gives_the_same_belief() -> None:
    likelihoods = rng().random((20, 3))
    assert after([1, 1, 1], likelihoods).mean.tolist() == after([1, 1, 1], likelihoods).mean.tolist()


def test_asking_twice_gives_the_same_answer_and_nobody_can_change_it() -> None:
    belief = after([1, 1], rng().random((20, 2)))
    first = belief.mean
    kept = first.tolist()
    first[:] = 0
    assert belief.mean.tolist() == kept


def test_choices_one_by_one_are_as_good_as_all_at_once() -> None:
    likelihoods = rng(2).dirichlet([0.5, 0.5], 40)
    belief = Belief([1, 1], rng())
    for row in likelihoods:
        belief.observe(row)
        assert belief.mean.sum() == pytest.approx(1)
    np.testing.assert_allclose(belief.mean, exact([1, 1], likelihoods), atol=2e-2)


def test_a_window_forgets() -> None:
    belief = Belief([1, 1], rng(), window=10)
    for row in [[1, 0]] * 50 + [[0, 1]] * 10:
        belief.observe(row)
    np.testing.assert_allclose(belief.mean, [1 / 12, 11 / 12], atol=1e-12)


def test_a_prior_next_to_nothing_does_not_break_the_sampler() -> None:
    belief = after([1e-30, 1.0], np.array([[1, 0], [0.5, 0.6], [0, 1]] * 5, np.float64))
    assert np.isfinite(belief.mean).all()


@pytest.mark.parametrize("alpha", [[], [0.0, 1.0], [-1.0], [float("nan")], [[1.0]]])
def test_a_prior_must_be_positive(alpha: list[float]) -> None:
    with pytest.raises(ValueError, match="expected a positive number for each model"):
        Belief(alpha, rng())


def test_settings_must_make_sense() -> None:
    with pytest.raises(ValueError, match="sweeps=0, burn_in=50, window=None: expected at least 1, 0 and 1"):
        Belief([1], rng(), sweeps=0)


@pytest.mark.parametrize("likelihoods", [[1.0], [1.0, 2.0, 3.0], [1.0, -0.1], [float("nan"), 1.0]])
def test_likelihoods_must_fit_the_models(likelihoods: list[float]) -> None:
    with pytest.raises(ValueError, match="expected 2 numbers from 0 for each choice"):
        Belief([1, 1], rng()).observe(likelihoods)
