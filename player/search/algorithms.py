"""The algorithms by name, as players and `ggp search` take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ggp.game import Game
from ggp.reasoner import Floats
from player.search.heuristics import Heuristic, given
from player.search.rules import Expectation, MaxN, MaxProb, MPMix, Paranoid, ProbMaxN, SoftMaxN
from player.search.utilities import Outcomes, Utility, utility

ALGORITHMS = ("maxn", "paranoid", "soft-maxn", "prob-maxn", "max-prob", "mp-mix")


@dataclass(frozen=True)
class Options:
    """What the algorithms can be told; each takes what concerns it."""

    models: tuple[str, ...] = ("own",)  # what a role may want, by lot (prob-maxn), or all together (soft-maxn)
    belief: tuple[float, ...] = ()  # prob-maxn: probability of each model, even if not given
    beliefs: Mapping[str, tuple[float, ...]] | None = None  # the same for single roles
    epsilon: float = 0.1  # prob-maxn: how often a role errs
    true: str = "own"  # prob-maxn: what the searcher wants
    win: str = "goal"  # max-prob: who has won, by goal or the best
    by: str = "mean"  # soft-maxn: what counts of a set of outcomes: mean, worst or best
    defend: float = 20.0  # mp-mix: from which lead on the searcher is paranoid
    attack: float = 20.0  # mp-mix: from which lead of another on it attacks

    @property
    def asks_for_states(self) -> bool:
        """Whether a utility is a function of the final state, not only of the goals."""
        return "given" in (*self.models, self.true)


def checked(options: Options) -> Options:
    """The options, if there are such."""
    for name in (*options.models, options.true):
        if name != "given":
            utility(name)
    if not 0 <= options.epsilon <= 1:
        raise ValueError(f"epsilon {options.epsilon:g}: expected a number from 0 to 1")
    if not (isfinite(options.defend) and isfinite(options.attack)):
        raise ValueError(f"defend {options.defend:g}, attack {options.attack:g}: expected numbers")
    for shares in (options.belief, *(options.beliefs or {}).values()):
        _shares(shares, options.models)
    MaxProb(0, options.win)
    SoftMaxN(0, by=options.by)
    return options


def rule(name: str, game: Game, me: int, options: Options, estimates: Callable[[], Floats]) -> Expectation:
    """The rule of an algorithm; `estimates` (roles,) says what the position is about worth, if that is asked."""
    checked(options)
    if name == "maxn":
        return MaxN(me)
    if name == "paranoid":
        return Paranoid(me)
    if name == "soft-maxn":
        if "given" in options.models:
            raise ValueError("soft-maxn compares outcomes, not states: expected models other than given")
        return SoftMaxN(me, [wanted(game, model) for model in options.models], by=options.by)
    if name == "max-prob":
        return MaxProb(me, options.win)
    if name == "mp-mix":
        mix = MPMix(me, defend=options.defend, attack=options.attack, chance=game.chance)
        return mix.rule(estimates())
    if name == "prob-maxn":
        return ProbMaxN(
            me,
            [wanted(game, model) for model in options.models],
            beliefs(game, options),
            roles=len(game.roles),
            epsilon=options.epsilon,
            true=wanted(game, options.true),
            chance=game.chance,
        )
    raise ValueError(f"algorithm {name!r}: expected one of {', '.join(ALGORITHMS)}")


def wanted(game: Game, name: str) -> Utility:
    """The utility model of this name; `given` is the function of the final state that the game has."""
    if name != "given":
        return utility(name)
    function = given(game)
    if function is None:
        raise ValueError(f"utility model 'given': none is known for {game.name}")
    return Given(function)


@dataclass(frozen=True)
class Given:
    """What a game's own function says of the final state; of playouts only the goals are known."""

    function: Heuristic
    __name__ = "given"

    def __call__(self, outcomes: Outcomes) -> Floats:
        return outcomes.goals if outcomes.states is None else self.function(outcomes.states)[:, None, :]


def beliefs(game: Game, options: Options) -> Floats:
    """(roles, models): how likely each role follows each model, from what was given."""
    for role in options.beliefs or {}:
        if role not in game.roles:
            raise ValueError(f"belief of {role!r}: expected one of {', '.join(game.roles)}")
    return np.array([_shares((options.beliefs or {}).get(role, options.belief), options.models) for role in game.roles])


def _shares(given: Sequence[float], models: Sequence[str]) -> Floats:
    belief = np.array(given or [1.0] * len(models), np.float64)
    if len(belief) != len(models) or not np.isfinite(belief).all() or (belief < 0).any() or not belief.sum() > 0:
        shown = ", ".join(f"{share:g}" for share in given)
        raise ValueError(f"belief {shown}: expected a probability for each of {', '.join(models)}")
    shares: Floats = belief / belief.sum()
    return shares
