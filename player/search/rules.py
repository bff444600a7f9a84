"""What each algorithm believes: one class a paper, its formula once, for any number of nodes at a time.

Most algorithms differ only in how likely they think each choice of a role is. They say so in `odds`, and the value of a
node is what is then to be expected. Chance, and opponents of whom there is a model, play as they are known to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ggp.reasoner import Bools, Floats, Ints
from player.search.dag import TOLERANCE, Choices, Stages, strides
from player.search.intervals import win_probabilities
from player.search.utilities import Outcomes, Utility, own

Values = npt.NDArray[Any]


class Expectation:
    """The template: subclasses say how likely each choice is."""

    mixes = True  # where others choose at the same time, the searcher's own odds are what it plays

    def __init__(self, me: int) -> None:
        self.me = me

    def leaf(self, outcomes: Outcomes) -> Values:
        """(n, k) values of positions from how they end or may end."""
        found: Values = outcomes.goals.mean(axis=1)
        return found

    def estimate(self, now: Outcomes, bound: Floats) -> Values:
        """(n, k) values of positions of which a heuristic knows goals as they stand, and how high each may rise."""
        return self.leaf(now)

    def odds(self, choices: Choices) -> Floats:
        """(edges,) how likely each choice is, if nobody knows better."""
        raise NotImplementedError

    def payoffs(self, values: Values) -> Floats:
        """(n, roles) what values are worth to each role."""
        return values

    def worth(self, values: Values) -> Floats:
        """(n,) what values are worth to the searcher."""
        found: Floats = values[:, self.me]
        return found

    def likely(self, choices: Choices) -> Floats:
        """(edges,) how likely each choice is."""
        return np.where(np.isnan(choices.odds), self.odds(choices), choices.odds)

    def play(self, stages: Stages) -> Floats:
        """(edges, roles) how likely each role makes its move where several choose at once.

        Who is the only one whose play is not known chooses as if alone.
        """
        odds = stages.equilibrium(self.payoffs(stages.values))
        unknown = stages.unknown
        for role in np.flatnonzero((unknown & (unknown.sum(axis=1) == 1)[:, None]).any(axis=0)).tolist():
            replies = stages.replies(role, odds)
            alone = self.odds(replies)[replies.first[stages.node] + stages.local[:, role]]
            sole = unknown[:, role] & (unknown.sum(axis=1) == 1)
            odds[:, role] = np.where(sole[stages.node], alone, odds[:, role])
        return odds

    def replies(self, stages: Stages, odds: Floats) -> tuple[Choices, Floats]:
        """The searcher's moves where all `play` with these odds, as if it chose alone, and how likely each is."""
        return stages.replies(self.me, odds), stages.of_role(self.me, odds)

    def decision(self, values: Values, odds: Floats) -> Floats:
        """(n,) with which probability the searcher plays each move, which leads to these values and is so likely."""
        return odds

    def back_up(self, choices: Choices) -> Values:
        return choices.expected(self.likely(choices))

    def back_up_stages(self, stages: Stages) -> Values:
        return stages.expected(self.play(stages))


class MaxN(Expectation):
    """maxⁿ (Luckhardt & Irani 1986): everybody takes the child that is best for them; of several the first."""

    def odds(self, choices: Choices) -> Floats:
        return choices.the_first(choices.best(_of(choices.values, choices.chooser)))


class Paranoid(Expectation):
    """Paranoid (Sturtevant & Korf 2000): all others have joined against the searcher, whose goal alone counts."""

    def leaf(self, outcomes: Outcomes) -> Values:
        found: Values = outcomes.goals.mean(axis=1)[:, [self.me]]
        return found

    def worth(self, values: Values) -> Floats:
        found: Floats = values[:, 0]
        return found

    def odds(self, choices: Choices) -> Floats:
        sign = np.where(choices.chooser == self.me, 1.0, -1.0)
        return choices.the_first(choices.best(sign * choices.values[:, 0]))

    def play(self, stages: Stages) -> Floats:
        """What is likely, not what is feared: nobody sees another's move."""
        against = np.where(np.arange(stages.sizes.shape[1]) == self.me, 1.0, -1.0)
        return stages.equilibrium(stages.values * against)

    def replies(self, stages: Stages, odds: Floats | None = None) -> tuple[Choices, Floats]:
        """The others answer the searcher's move; chance, and who has a model, does not know it."""
        blind = ~np.isnan(stages.odds)
        blind[:, self.me] = False
        weights = np.where(blind, stages.odds, 1.0).prod(axis=1)
        answers = stages.local * ~blind * strides(stages.sizes)[stages.node]
        group = stages.first[stages.node] + answers.sum(axis=1)  # the edge on which the blind play their first moves
        expected = np.bincount(group, weights * stages.values[:, 0], minlength=len(group))[group]
        replies = stages.moves(self.me, np.minimum, expected[:, None])
        return replies, self.odds(replies)

    def back_up_stages(self, stages: Stages) -> Values:
        replies, _ = self.replies(stages)
        found: Values = np.maximum.reduceat(replies.values, replies.first[:-1], axis=0)
        return found


class MaxProb(Expectation):
    """Max-Prob (Hashavit & Markovitch 2011): everybody maximises their probability to win, and ties are fair lots.

    `win` says who has won at the end: `goal` counts goal/100, `best` those with the highest goal. Playouts and
    heuristics are about the highest goal.
    """

    def __init__(self, me: int, win: str = "goal") -> None:
        super().__init__(me)
        if win not in ("goal", "best"):
            raise ValueError(f"win={win}: expected goal or best")
        self.win = win

    def leaf(self, outcomes: Outcomes) -> Values:
        alone = len(outcomes.players) == 1  # nobody to be better than
        if alone or (outcomes.is_final and self.win == "goal"):
            return np.asarray(outcomes.goals.mean(axis=1) / 100)
        goals = outcomes.goals.copy()
        if outcomes.chance is not None:
            goals[..., outcomes.chance] = -np.inf
        found: Values = (goals >= goals.max(axis=2, keepdims=True) - TOLERANCE).mean(axis=1)
        return found

    def estimate(self, now: Outcomes, bound: Floats) -> Values:
        """The interval estimate, equation 1."""
        if len(now.players) == 1:
            return self.leaf(now)
        low = now.goals[:, 0]
        high = np.maximum(low, bound)
        found = np.zeros(low.shape)
        found[:, now.players] = win_probabilities(low[:, now.players], high[:, now.players])
        return found

    def odds(self, choices: Choices) -> Floats:
        return choices.evenly(choices.best(_of(choices.values, choices.chooser)))


class ProbMaxN(Expectation):
    """prob-maxⁿ (Sturtevant, Zinkevich & Bowling 2006): a role is one of several mini-players, each time by lot.

    A mini-player wants one of `utilities` and plays ε-greedily; if there is a model of the role, that is one more.
    `belief[role, j]` is the probability of mini-player j, the model last. A value is the utility of each mini-player of
    each role, and then the searcher's true utility, which it maximises.
    """

    mixes = False

    def __init__(
        self,
        me: int,
        utilities: Sequence[Utility] = (own,),
        belief: npt.ArrayLike | None = None,
        *,
        roles: int,
        epsilon: float = 0.1,
        true: Utility = own,
        chance: int | None = None,
    ) -> None:
        super().__init__(me)
        self.utilities = tuple(utilities)
        self.models = len(self.utilities)
        self.roles = roles
        self.epsilon = epsilon
        self.true = true
        even = np.full((roles, self.models), 1 / self.models)
        self.belief = even if belief is None else np.asarray(belief, np.float64)
        if self.belief.shape == (roles, self.models):
            self.belief = np.column_stack((self.belief, np.zeros(roles)))
        if chance is not None:
            self.belief[chance] = np.eye(self.models + 1)[-1]

    def leaf(self, outcomes: Outcomes) -> Values:
        utilities = np.stack([utility(outcomes).mean(axis=1) for utility in self.utilities], axis=2)
        true = self.true(outcomes).mean(axis=1)[:, self.me]
        return np.column_stack((utilities.reshape(len(true), self.roles * self.models), true))

    def matrix(self, values: Values) -> Floats:
        """(n, roles, models)"""
        found: Floats = values[:, :-1].reshape(len(values), self.roles, self.models)
        return found

    def payoffs(self, values: Values) -> Floats:
        utilities = self.belief[:, :-1]
        total = utilities.sum(axis=1, keepdims=True)
        share = np.where(total > 0, utilities / np.where(total > 0, total, 1), 1 / self.models)
        found: Floats = (self.matrix(values) * share).sum(axis=2)
        return found

    def worth(self, values: Values) -> Floats:
        found: Floats = values[:, -1]
        return found

    def mini_players(self, choices: Choices) -> Floats:
        """(edges, models): how likely each mini-player makes each choice."""
        utilities = _of(self.matrix(choices.values), choices.chooser)
        random = self.epsilon / np.repeat(choices.sizes, choices.sizes)
        greedy = [choices.evenly(choices.best(utilities[:, j])) for j in range(self.models)]
        return np.column_stack([(1 - self.epsilon) * share + random for share in greedy])

    def odds(self, choices: Choices) -> Floats:
        found: Floats = (self.belief[choices.chooser, :-1] * self.mini_players(choices)).sum(axis=1)
        return found

    def likely(self, choices: Choices) -> Floats:
        model = np.nan_to_num(choices.odds) * self.belief[choices.chooser, -1]
        return np.asarray(self.odds(choices) + model)

    def play(self, stages: Stages) -> Floats:
        """Mini-players of one role are one player there, who wants what they want on average, and errs at times."""
        alone = np.where(self.belief[:, -1] < 1, np.nan, stages.odds)
        found = stages.equilibrium(self.payoffs(stages.values), alone)
        random = self.epsilon / np.repeat(stages.sizes, np.diff(stages.first), axis=0)
        greedy = np.where(np.isnan(alone), (1 - self.epsilon) * found + random, found)
        modelled = np.isnan(alone) & ~np.isnan(stages.odds)
        model = self.belief[:, -1]
        return np.where(modelled, (1 - model) * greedy + model * np.nan_to_num(stages.odds), greedy)

    def decision(self, values: Values, odds: Floats) -> Floats:
        good = best(self.worth(values))
        return np.asarray(good / good.sum())

    def back_up(self, choices: Choices) -> Values:
        values = super().back_up(choices)
        most = np.maximum.reduceat(choices.values[:, -1], choices.first[:-1])
        values[:, -1] = np.where(choices.mover == self.me, most, values[:, -1])
        return values

    def back_up_stages(self, stages: Stages) -> Values:
        odds = self.play(stages)
        values = stages.expected(odds)
        replies = stages.replies(self.me, odds)
        values[:, -1] = np.maximum.reduceat(replies.values[:, -1], replies.first[:-1])
        return values


class Offensive(MaxN):
    """MP-Mix's attack: the searcher takes the child that is worst for the leader, the others play maxⁿ."""

    def __init__(self, me: int, leader: int) -> None:
        super().__init__(me)
        self.leader = leader

    def odds(self, choices: Choices) -> Floats:
        worst = choices.best(-choices.values[:, self.leader])
        attack = np.where(worst, choices.values[:, self.me], -np.inf)
        mine = choices.chooser == self.me
        return choices.the_first(choices.best(np.where(mine, attack, _of(choices.values, choices.chooser))))

    def payoffs(self, values: Values) -> Floats:
        found: Floats = values.copy()
        found[:, self.me] = -values[:, self.leader]
        return found


class MPMix:
    """MP-Mix (Zuckerman, Felner & Kraus 2009), directed offensive: how far the leader is ahead says which rule to use.

    The searcher is paranoid if it leads by `defend` or more, attacks a leader who is ahead by `attack` or more, and
    plays maxⁿ otherwise.
    """

    def __init__(self, me: int, *, defend: float = 20, attack: float = 20, chance: int | None = None) -> None:
        self.me = me
        self.defend = defend
        self.attack = attack
        self.chance = chance

    def rule(self, estimates: Floats) -> Expectation:
        """The rule for a position in which the roles' values (roles,) are about these.

        >>> mix = MPMix(0)
        >>> [type(mix.rule(np.array(values))).__name__ for values in ([90, 10, 0], [50, 40, 10], [0, 10, 90])]
        ['Paranoid', 'MaxN', 'Offensive']
        """
        players = [role for role in range(len(estimates)) if role != self.chance]
        if len(players) == 1:
            return MaxN(self.me)
        leader, runner_up = sorted(players, key=lambda role: (-estimates[role], role != self.me))[:2]
        ahead = estimates[leader] - estimates[runner_up]
        if leader == self.me:
            return Paranoid(self.me) if ahead >= self.defend else MaxN(self.me)
        return Offensive(self.me, leader) if ahead >= self.attack else MaxN(self.me)


class SoftMaxN(Expectation):
    """soft-maxⁿ (Sturtevant & Bowling 2006): where it is not known which of several children a role prefers, all of
    their outcomes are backed up.

    A role prefers an outcome to another if it is worth more to it by all of `utilities`, a partial order; and a set of
    outcomes if it prefers each of them to each of the other set. Children whose set is not worse than another child's
    stay. At the root the searcher decides by the `mean`, the `worst` or the `best` of a set. A value is a set of bits,
    one for each of `most` outcomes; if there are more, the next alike stands for one.
    """

    def __init__(self, me: int, utilities: Sequence[Utility] = (own,), *, by: str = "mean", most: int = 256) -> None:
        super().__init__(me)
        if by not in ("mean", "worst", "best"):
            raise ValueError(f"by={by}: expected mean, worst or best")
        self.utilities = tuple(utilities)
        self.by = by
        self.words = -(-most // 64)
        self.known: dict[tuple[float, ...], int] = {}
        self.outcomes: Floats = np.zeros((0, 0))  # (known, roles)
        self.wanted: Floats = np.zeros((0, 0, 0))  # (models, known, roles)

    def leaf(self, outcomes: Outcomes) -> Values:
        goals = outcomes.goals.mean(axis=1)
        rows = np.unique(goals if outcomes.is_final else np.round(goals), axis=0, return_inverse=True)
        numbers = self._numbers(rows[0], outcomes)
        bits = numbers[rows[1].reshape(-1)]
        found = np.zeros((len(goals), self.words), np.uint64)
        found[np.arange(len(goals)), bits // 64] = np.uint64(1) << (bits % 64).astype(np.uint64)
        return found

    def _numbers(self, rows: Floats, outcomes: Outcomes) -> Ints:
        """The numbers of these outcomes; one for which there is no room gets that of the next alike."""
        keys = list(map(tuple, rows.tolist()))
        for key in keys:
            if len(self.known) < 64 * self.words:
                self.known.setdefault(key, len(self.known))
        if len(self.known) != len(self.outcomes):
            self.outcomes = np.array(list(self.known))
            ends = Outcomes(self.outcomes[:, None, :], outcomes.me, outcomes.chance)
            self.wanted = np.stack([utility(ends)[:, 0] for utility in self.utilities])
        return np.array([self.known[key] if key in self.known else self._next_alike(key) for key in keys], np.int64)

    def _next_alike(self, outcome: tuple[float, ...]) -> int:
        return int(np.abs(self.outcomes - outcome).sum(axis=1).argmin())

    def sets(self, values: Values) -> Bools:
        """(n, known): which outcomes are in each set."""
        bits = np.unpackbits(np.ascontiguousarray(values).view(np.uint8), axis=1, bitorder="little")
        return bits[:, : len(self.known)].astype(np.bool_)

    def bounds(self, values: Values, roles: Ints) -> tuple[Floats, Floats]:
        """(models, n) twice: what the worst and the best outcome of each set are worth to the role of its row."""
        low = np.full((len(self.utilities), len(values)), np.inf)
        high = -low
        for number in range(len(self.known)):
            some = np.flatnonzero(values[:, number // 64] >> np.uint64(number % 64) & np.uint64(1))
            worth = self.wanted[:, number][:, roles[some]]
            low[:, some] = np.minimum(low[:, some], worth)
            high[:, some] = np.maximum(high[:, some], worth)
        return low, high

    def kept(self, choices: Choices) -> Bools:
        """(edges,) the children that no other child is better than."""
        low, high = self.bounds(choices.values, choices.chooser)
        if len(self.utilities) == 1:
            bar = np.maximum.reduceat(low[0], choices.first[:-1])
            return np.asarray(high[0] >= np.repeat(bar, choices.sizes) - TOLERANCE)
        sizes = np.repeat(choices.sizes, choices.sizes)
        begin = np.repeat(choices.first[:-1], choices.sizes)
        within = np.arange(len(sizes)) - begin
        kept = np.ones(len(sizes), np.bool_)
        for shift in range(1, int(choices.sizes.max())):
            other = begin + (within + shift) % sizes
            kept &= ~(low[:, other] > high + TOLERANCE).all(axis=0)
        return kept

    def back_up(self, choices: Choices) -> Values:
        kept = np.where(np.isnan(choices.odds), self.kept(choices), choices.odds > 0)
        return _union(np.where(kept[:, None], choices.values, np.uint64(0)), choices.first)

    def back_up_stages(self, stages: Stages) -> Values:
        odds = self.play(stages).prod(axis=1)
        likely = odds >= np.repeat(np.maximum.reduceat(odds, stages.first[:-1]), np.diff(stages.first)) / 20
        return _union(np.where(likely[:, None], stages.values, np.uint64(0)), stages.first)

    def play(self, stages: Stages) -> Floats:
        return stages.equilibrium(self.payoffs(stages.values))

    def payoffs(self, values: Values) -> Floats:
        """The mean outcome."""
        sets = self.sets(values).astype(np.float64)
        found: Floats = sets @ self.outcomes / sets.sum(axis=1, keepdims=True)
        return found

    def worth(self, values: Values) -> Floats:
        if self.by == "mean":
            return self.payoffs(values)[:, self.me]
        inside = np.where(self.sets(values), self.outcomes[:, self.me], np.nan)
        return np.asarray(np.nanmin(inside, axis=1) if self.by == "worst" else np.nanmax(inside, axis=1))

    def odds(self, choices: Choices) -> Floats:
        return choices.evenly(self.kept(choices))

    def replies(self, stages: Stages, odds: Floats) -> tuple[Choices, Floats]:
        return stages.moves(self.me, np.bitwise_or, stages.values), stages.of_role(self.me, odds)

    def decision(self, values: Values, odds: Floats) -> Floats:
        return np.asarray(np.eye(len(values))[best(self.worth(values)).argmax()])


def _of(values: Values, role: Ints) -> Floats:
    """Of each row what belongs to the role."""
    found: Floats = values[np.arange(len(values)), role]
    return found


def best(worth: Floats) -> Bools:
    """(n,) what is worth most, with all that tie."""
    found: Bools = worth >= worth.max() - TOLERANCE
    return found


def _union(sets: Values, first: Ints) -> Values:
    found: Values = np.bitwise_or.reduceat(sets, first[:-1], axis=0)
    return found
