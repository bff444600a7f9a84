"""Random play written down in full, to compare engines by: every state with its facts, legal moves and goals.

The format is that of the reference traces: a header, then one object per visited state; terms in lower case, sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ggp.game import Game, State
from ggp.reasoner import Reasoner
from ggp.terms import Move, Term


def trace(game: Game, reasoner: Reasoner, *, seed: int, playouts: int, max_steps: int) -> Iterator[dict[str, Any]]:
    """The header, then a line for each state of `playouts` uniformly random games of at most `max_steps` steps."""
    yield {
        "game": game.name,
        "roles": [kif(role) for role in game.roles],
        "seed": seed,
        "playouts": playouts,
        "maxsteps": max_steps,
        "sees": game.is_imperfect,
        "random_role": game.chance is not None,
    }
    rng = np.random.default_rng(seed)
    for playout in range(playouts):
        state = State(game, reasoner, reasoner.initial())
        for step in range(max_steps + 1):
            line: dict[str, Any] = {"playout": playout, "step": step, **_described(state)}
            stuck = next((role for role in game.roles if not state.legal(role)), None)
            move: list[Move] | None = None
            if not state.is_terminal and step < max_steps and stuck is None:
                legal = [state.legal(role) for role in game.roles]
                move = [moves[int(rng.integers(len(moves)))] for moves in legal]
            line["move"] = move and {kif(role): kif(m) for role, m in zip(game.roles, move, strict=True)}
            if game.is_imperfect:
                line["sees"] = move and {kif(role): _sorted(seen) for role, seen in state.sees(*move).items()}
            if stuck is not None and not state.is_terminal:
                line["error"] = f"no legal move for {kif(stuck)}"
            yield line
            if move is None:
                break
            state = state.play(*move)


def kif(term: Term | str) -> str:
    """Lower case, single spaces; `(p)` stays `(p)` where the rules write it so."""
    return str(term).lower()


def _sorted(terms: Iterable[Term]) -> list[str]:
    return sorted(map(kif, terms))


def _described(state: State) -> dict[str, Any]:
    game = state.game
    values = [state.reasoner.goal_values(state.row, i)[0] for i in range(len(game.roles))]
    several = {kif(role): sorted(map(str, v)) for role, v in zip(game.roles, values, strict=True) if len(v) > 1}
    return {
        "state": _sorted(state.facts),
        "legals": {kif(role): _sorted(state.legal(role)) for role in game.roles},
        "terminal": state.is_terminal,
        "goals": {kif(role): v[0] if len(v) == 1 else None for role, v in zip(game.roles, values, strict=True)},
        **({"goals_raw": several} if several else {}),
    }
