"""Which model does a player follow? Beliefs over models, learned from its choices."""

from __future__ import annotations

from math import lgamma

import numpy as np
import numpy.typing as npt

from ggp.reasoner import Floats
from player.search.beliefs import kernels


class Belief:
    """How often one role chooses by each of several models: a Dirichlet prior, and what its choices tell.

    Each choice comes from one of the models, which is not seen. The posterior over all of them is sampled by collapsed
    Gibbs sampling: P(model of choice k is j | the others) ∝ (αⱼ + choices of j among the others) · P(choice k | j).
    Sturtevant, Zinkevich & Bowling, Prob-maxⁿ, 2006, "Learning in Prob-maxⁿ".

    >>> belief = Belief([1, 1], np.random.default_rng(0))
    >>> belief.mean.tolist()
    [0.5, 0.5]
    >>> belief.observe([1.0, 0.0])
    >>> round(belief.probability(0), 3)
    0.667
    """

    def __init__(
        self,
        alpha: npt.ArrayLike,  # (models,): a model's share of the sum is its prior probability; the sum is how firm
        rng: np.random.Generator,
        *,
        sweeps: int = 500,
        burn_in: int = 50,
        window: int | None = None,  # only the last so many choices count: for players that change
    ) -> None:
        self.alpha = np.array(alpha, np.float64)
        if self.alpha.ndim != 1 or not len(self.alpha) or not (np.isfinite(self.alpha) & (self.alpha > 0)).all():
            raise ValueError(f"alpha {alpha!r}: expected a positive number for each model")
        if sweeps < 1 or burn_in < 0 or (window is not None and window < 1):
            raise ValueError(f"sweeps={sweeps}, burn_in={burn_in}, window={window}: expected at least 1, 0 and 1")
        self.rng = rng
        self.sweeps = sweeps
        self.burn_in = burn_in
        self.window = window
        self._likelihoods = np.zeros((0, len(self.alpha)))  # (choices that tell something, models)
        self._latent = np.zeros(0, np.int64)  # where the chain stands: the model of each of them, −1 before its draw
        self._mean: Floats | None = self.alpha / self.alpha.sum()

    def observe(self, likelihoods: npt.ArrayLike) -> None:
        """Takes in a choice, p(what was chosen | model j) for each j, or several of them, (choices, models).

        A choice that no model explains, or all equally well, tells nothing and is skipped.
        """
        rows = np.atleast_2d(np.asarray(likelihoods, np.float64))
        if rows.shape[1] != len(self.alpha) or not (np.isfinite(rows) & (rows >= 0)).all():
            raise ValueError(f"likelihoods {likelihoods!r}: expected {len(self.alpha)} numbers from 0 for each choice")
        rows = rows[(rows != rows[:, :1]).any(axis=1)]
        if not len(rows):
            return
        first = -self.window if self.window else None
        self._likelihoods = np.concatenate([self._likelihoods, rows / rows.max(axis=1, keepdims=True)])[first:]
        self._latent = np.concatenate([self._latent, np.full(len(rows), -1)])[first:]
        self._mean = None

    @property
    def mean(self) -> Floats:
        """(models,): the probability that the next choice comes from each model.

        Sampled when it is first asked for after a choice; the chain goes on from where it was.
        """
        if self._mean is None:
            choices = len(self._latent)
            uniforms = self.rng.random((self.burn_in + self.sweeps, choices))
            expected = np.zeros(len(self.alpha))
            kernels.sweeps(self._likelihoods, self.alpha, self._latent, uniforms, self.burn_in, expected)
            self._mean = (self.alpha + expected / self.sweeps) / (self.alpha.sum() + choices)
        return self._mean.copy()

    def probability(self, model: int) -> float:
        return float(self.mean[model])


def exact(alpha: npt.ArrayLike, likelihoods: npt.ArrayLike) -> Floats:
    """What `Belief.mean` samples, summed over all that may have been: for short histories, and for tests.

    Which models made the choices matters only through how many each has made, so the number of cases grows with
    choices^(models − 1), not models^choices.

    >>> exact([1, 1], [[1, 0], [1, 0]]).tolist()
    [0.75, 0.25]
    """
    prior = [float(a) for a in np.asarray(alpha, np.float64)]
    rows = [[float(p) for p in row] for row in np.asarray(likelihoods, np.float64).reshape(-1, len(prior)) if row.any()]
    cases = {(0,) * len(prior): 1.0}  # how many choices of each model → how likely what was seen is, summed
    for row in rows:
        longer: dict[tuple[int, ...], float] = {}
        for counts, weight in cases.items():
            for j, likelihood in enumerate(row):
                if likelihood:
                    after = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                    longer[after] = longer.get(after, 0.0) + weight * likelihood
        most = max(longer.values())
        cases = {counts: weight / most for counts, weight in longer.items()}
    made = np.array(list(cases), np.float64) + prior  # (cases, models)
    logs = np.log(list(cases.values())) + [sum(map(lgamma, row)) for row in made]
    weights = np.exp(logs - logs.max())
    return np.asarray(weights @ made / weights.sum() / (sum(prior) + len(rows)))
