"""A random game as text that a person can review, and that every engine must reproduce to the letter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

import numpy as np

from ggp.game import Game, State
from ggp.reasoner import Reasoner
from ggp.terms import Fact, Move

MAX_STEPS = 40
WIDTH = 118


def playthrough(game: Game, reasoner: Reasoner, *, seed: int) -> str:
    """A random game: the facts at the start, then what each joint move changed, and who could have moved how."""
    return "\n".join(_lines(game, reasoner, seed)) + "\n"


def _lines(game: Game, reasoner: Reasoner, seed: int) -> Iterator[str]:
    yield f"game {game.name}, rules {game.rule_hash[:16]}, roles {' '.join(game.roles)}, seed {seed}"
    rng = np.random.default_rng(seed)
    state = State(game, reasoner, reasoner.initial())
    yield from _wrapped("facts", state.facts)
    for step in range(MAX_STEPS):
        yield ""
        legal = [state.legal(role) for role in game.roles]
        for role, moves in zip(game.roles, legal, strict=True):
            yield from _wrapped(f"{role} may ({len(moves)})", moves)
        if state.is_terminal or not all(legal):
            break
        joint = [moves[int(rng.integers(len(moves)))] for moves in legal]
        yield f"{step + 1}. {' '.join(map(str, joint))}"
        if game.is_imperfect:
            for role, seen in state.sees(*joint).items():
                yield from _wrapped(f"{role} sees", seen)
        after = state.play(*joint)
        yield from _wrapped("−", state.facts - after.facts)
        yield from _wrapped("+", after.facts - state.facts)
        state = after
    ending = "terminal" if state.is_terminal else f"not over after {MAX_STEPS} steps"
    yield f"{ending}; goals {' '.join(f'{role} {goal}' for role, goal in state.goals.items())}"


def _wrapped(label: str, terms: Iterable[Fact | Move]) -> Iterator[str]:
    """The terms sorted, behind a label, in lines of readable width."""
    words = [str(term).replace(" ", "\u00a0") for term in sorted(terms, key=str)]  # no break inside a term
    text = textwrap.wrap(f"{label}: {'  '.join(words)}", WIDTH, subsequent_indent="    ", break_long_words=False)
    yield from (line.replace("\u00a0", " ") for line in text)
