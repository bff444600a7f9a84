"""The Gibbs sampler of `Belief`. Releases the GIL and is cached on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

jit = njit(nogil=True, cache=True)


@jit
def sweeps(likelihoods: Any, alpha: Any, latent: Any, uniforms: Any, burn_in: Any, expected: Any) -> None:
    """Draws the latent model of each choice given all the others, over and over, one sweep for each row of `uniforms`.

    `latent` is where the chain stands, −1 for a choice that has no model yet. `expected` gets the choices that each
    model has made, summed over the sweeps after `burn_in`: their conditional expectation, which varies less than the
    count that is drawn.
    """
    models = len(alpha)
    counts = np.zeros(models, np.int64)
    odds = np.empty(models)
    for model in latent:
        if model >= 0:
            counts[model] += 1
    for sweep in range(len(uniforms)):
        for k in range(len(latent)):
            if latent[k] >= 0:
                counts[latent[k]] -= 1
            total = 0.0
            for j in range(models):
                odds[j] = (alpha[j] + counts[j]) * likelihoods[k, j]
                total += odds[j]
            rest = uniforms[sweep, k] * total
            chosen = -1
            for j in range(models):
                if odds[j] > 0.0 and (chosen < 0 or rest >= 0.0):
                    chosen = j
                rest -= odds[j]
            latent[k] = chosen
            counts[chosen] += 1
            if sweep >= burn_in:
                for j in range(models):
                    expected[j] += odds[j] / total
