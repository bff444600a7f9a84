"""The compiled engine: clingo grounds the rules, a network of gates holds them, numba runs 512 states in one pass.

`flatten`, `estimate`, `decompose`, `demand` and `ground` turn rules into ground ones, `network` into gates, `tape` lays
these out in order, `kernels` run it, `store` keeps it, `reasoner` answers the questions of the Reasoner interface. See
docs/engine.md.
"""

from __future__ import annotations

from ggp.propnet.reasoner import PropnetReasoner

__all__ = ["PropnetReasoner"]
