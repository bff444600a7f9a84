"""What a position is worth where the search stops before the game does.

A `Heuristic` is given by a game; every game has playouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

import ggp
from ggp.canonical import renamed, renaming
from ggp.game import Game
from ggp.reasoner import DEFAULT_MAX_STEPS, Floats, Reasoner, States
from ggp.terms import Fact
from player.search.heuristics import kernels
from player.search.heuristics.recipes import OTHERS, RECIPES, Recipe, Weights
from player.search.utilities import scored

if TYPE_CHECKING:
    from ggp.propnet import PropnetReasoner


class Heuristic:
    """The value of positions to each role, on the scale of goals: call it with rows of states.

    `bounds` are the least and the highest value that each role can have, each (roles,). `distinguishing` is what
    Max-Prob wants (Hashavit & Markovitch, 2011, definition 1): when the game is over, the roles with the highest goal,
    and only they, have the highest value. Chance is worth nothing.
    """

    def __init__(self, recipe: Recipe, game: Game, reasoner: Reasoner, names: Mapping[str, str] | None = None) -> None:
        """`names` leads from the game's symbols to those of the recipe, None where they are the same."""
        self.reasoner = reasoner
        self.distinguishing = recipe.distinguishing
        players = np.arange(len(game.roles)) != (-1 if game.chance is None else game.chance)
        self.bounds: tuple[Floats, Floats] = (recipe.bounds[0] * players, recipe.bounds[1] * players)
        self._recipe = recipe
        self._names = names or {}
        self._roles = [self._names.get(role, role) for role in game.roles]
        self._learn(cast("PropnetReasoner", reasoner).tape.facts if reasoner.engine == "propnet" else ())

    def __call__(self, rows: States) -> Floats:
        """(n, roles)"""
        packed = np.ascontiguousarray(rows if self.reasoner.engine == "propnet" else self._packed(rows))
        found = np.full((len(rows), len(self._roles)), float(self._recipe.base))
        kernels.add(packed, self._weights, self._left, self._right, self._pairs, found)
        # Equal values stay equal, whatever the order in which their parts were added.
        return np.clip(np.round(found, 9), *self.bounds)

    def _packed(self, rows: States) -> States:
        """(n, words): a bit for each fact, as the compiled engine has them."""
        states = self.reasoner.facts(rows)
        if new := frozenset[Fact]().union(*states).difference(self._columns):
            self._learn([*self._columns, *sorted(new, key=str)])
        bits = np.zeros((len(rows), 64 * max(1, -(-len(self._columns) // 64))), np.bool_)
        for row, facts in zip(bits, states, strict=True):
            row[[self._columns[fact] for fact in facts]] = True
        return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)

    def _learn(self, facts: Sequence[Fact]) -> None:
        """Asks the recipe for the weights of these facts, which are the bits of a row from now on."""
        self._columns = {fact: column for column, fact in enumerate(facts)}
        relations: dict[str, list[tuple[int, list[str]]]] = {}  # name → column and arguments of each fact
        for column, fact in enumerate(facts):
            known = renamed(fact, self._names)
            relations.setdefault(known.name, []).append((column, [str(arg) for arg in known.args]))
        self._weights = np.zeros((len(facts), len(self._roles)))
        for relation, weigh in self._recipe.facts.items():
            for column, args in relations.get(relation, ()):
                self._weights[column] = self._points(weigh(*args))
        pairs = {
            (a, b): points
            for (one, two), weigh in self._recipe.pairs.items()
            for a, first in relations.get(one, ())
            for b, second in relations.get(two, ())
            if any(points := self._points(weigh(*first, *second)))
        }
        lefts, rights = (list(dict.fromkeys(columns)) for columns in zip(*pairs, strict=True)) if pairs else ([], [])
        self._left, self._right = np.full(len(facts), -1), np.full(len(facts), -1)
        self._left[lefts], self._right[rights] = np.arange(len(lefts)), np.arange(len(rights))
        self._pairs = np.zeros((len(lefts), len(rights), len(self._roles)))
        for (a, b), points in pairs.items():
            self._pairs[self._left[a], self._right[b]] += points

    def _points(self, weights: Weights) -> list[float]:
        rest = weights.get(OTHERS, 0.0)
        return [weights.get(role, rest) for role in self._roles]


def given(game: Game, reasoner: Reasoner | None = None) -> Heuristic | None:
    """The heuristic that is known for this game, under whatever names its rules come; None where there is none.

    It takes states of `reasoner`, which is the one that the game is using where none is given.
    """
    for name, recipe in RECIPES.items():
        known = _bundled(name)
        if known.rule_hash == game.rule_hash:
            return Heuristic(recipe, game, reasoner or game.reasoner())
        if len(known.roles) == len(game.roles) and (names := renaming(game.structure, known.structure)) is not None:
            return Heuristic(recipe, game, reasoner or game.reasoner(), names)
    return None


@cache
def _bundled(name: str) -> Game:
    return ggp.load(name)


def playout_outcomes(
    reasoner: Reasoner, rows: States, n: int, rng: np.random.Generator, *, max_steps: int = DEFAULT_MAX_STEPS
) -> Floats:
    """(rows, n, roles): goals after `n` random games from each row, 0 where the rules give none.

    A game that does not end within `max_steps` counts with the goals of the state that it has reached.
    """
    return scored(reasoner.playouts(rows, n, rng, max_steps=max_steps).goals)


def playout_means(
    reasoner: Reasoner, rows: States, n: int, rng: np.random.Generator, *, max_steps: int = DEFAULT_MAX_STEPS
) -> Floats:
    """(rows, roles): the mean goals of `n` random games from each row; see `playout_outcomes`."""
    means: Floats = playout_outcomes(reasoner, rows, n, rng, max_steps=max_steps).mean(axis=1)
    return means
