"""Is it a game? What only play can show: random playouts, watched for what the specification asks of a game.

A game should end; until then every role should have a legal move, and at the end exactly one goal from 0 to 100; goals
should never fall; every role should be able to win (Love et al. 2006, section 5). Playouts can only refute all but the
last, and only prove the last: a role that never won is worth a note and no more. So is a goal that fell, because many a
good game keeps a provisional score.

| errors                      | warnings                                               | notes                 |
|-----------------------------|--------------------------------------------------------|-----------------------|
| a role without a legal move | a playout that does not end; time that runs out before | a goal that fell      |
| a goal outside 0 to 100     | no goal or several at the end                          | a role that never won |
| no answer within the limits |                                                        |                       |
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from ggp.errors import EngineMissing, MemoryLimit, ReasonerError, TimeLimit
from ggp.game import Game
from ggp.reasoner import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT, NO_GOAL, Bools, Ints, Reasoner
from ggp.validate import Finding, Report, error, note, report, shown, warning


def playability(
    game: Game,
    *,
    rng: np.random.Generator,
    playouts: int = 10,
    max_steps: int = 1000,
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
) -> Report:
    """What is wrong with `game` in random play: each kind once for a role, where it was first seen; all at line 1.

    `time_limit` are seconds for all of it, and for each answer of the reasoner.

    >>> game = Game.parse("(role robot) (init on) (<= (legal robot wait) (true off)) (<= terminal (true off))"
    ...                   "(goal robot 100)", name="robot.kif")
    >>> print(*playability(game, rng=np.random.default_rng(1)).errors)
    robot.kif:1:1: playout 1, step 0: robot has no legal move in on
    """
    prolog = game.reasoner("prolog", time_limit=time_limit, memory_limit=memory_limit)  # ready at once for any rules
    try:
        return _watched(_Watch(game, playouts, prolog), rng, max_steps, time_limit)
    except EngineMissing as missing:  # found out before anything was played
        try:
            compiled = game.reasoner("propnet", time_limit=time_limit, memory_limit=memory_limit)
        except ReasonerError:
            raise missing from None
        return _watched(_Watch(game, playouts, compiled), rng, max_steps, time_limit)


def _watched(watch: _Watch, rng: np.random.Generator, max_steps: int, time_limit: float) -> Report:
    try:
        watch.play(rng, max_steps, time_limit)
    except (TimeLimit, MemoryLimit) as failure:
        watch.tell(error, "no answer", f"step {watch.step}: {failure}")
    watch.conclude()
    return report(watch.source, watch.findings.values())


class _Watch:
    """Playouts in step with each other, and what was seen in them. Rows are those that are still under way."""

    def __init__(self, game: Game, playouts: int, reasoner: Reasoner) -> None:
        self.source = game.rulesheet.source
        self.reasoner = reasoner
        self.players = {i: game.roles[i] for i in game.players}
        self.plays = np.array([i in self.players for i in range(len(game.roles))])
        self.playouts = playouts
        self.findings: dict[tuple[str, int | None], Finding] = {}
        self.best = np.full(len(game.roles), NO_GOAL)  # (roles,) at the end of a playout
        self.ended = 0
        self.step = 0

    def play(self, rng: np.random.Generator, max_steps: int, time_limit: float) -> None:
        start = monotonic()
        self.numbers: Ints = np.arange(1, self.playouts + 1)  # (rows,)
        self.states = self.reasoner.initial(self.playouts)
        self.goals = np.full((self.playouts, len(self.best)), NO_GOAL)  # (rows, roles) the last that were given
        while True:
            self.watch_goals()
            terminal = self.reasoner.terminal(self.states)
            self.watch_ends(np.flatnonzero(terminal))
            self.keep(~terminal)
            legal = self.watch_moves()
            if not len(self.numbers):
                return
            if self.step >= max_steps:
                self.see(0, warning, "endless", f"no end, as in {len(self.numbers)} of {self.playouts} playouts,")
                return
            if monotonic() - start > time_limit:
                seen = f"{self.ended} of {self.playouts} playouts had ended"
                self.tell(warning, "slow", f"step {self.step}: stopped after {time_limit:g} s, {seen}")
                return
            joint = [[rng.choice(np.flatnonzero(moves[row])) for moves in legal] for row in range(len(self.numbers))]
            self.states = self.reasoner.step(self.states, joint)
            self.step += 1

    def watch_goals(self) -> None:
        goals = self.reasoner.goals(self.states)
        given = (goals != NO_GOAL) & self.plays
        for row, i in np.argwhere(given & (goals < self.goals)):
            fall = f"{self.reasoner.roles[i]}'s goal fell from {self.goals[row, i]} to {goals[row, i]}"
            self.see(row, note, "falling goal", fall, i)
        for row, i in np.argwhere(given & ((goals < 0) | (goals > 100))):
            self.see_bad_goal(row, i, goals[row, i])
        self.goals = np.where(given, goals, self.goals)

    def watch_ends(self, rows: Ints) -> None:
        self.ended += len(rows)
        for i, role in self.players.items():
            for row, values in zip(rows, self.reasoner.goal_values(self.states[rows], i), strict=True):
                if len(values) != 1:
                    came = f"the goals {', '.join(map(str, values))}" if values else "no goal"
                    self.see(row, warning, "goals at the end", f"{role} has {came} at the end, expected one,", i)
                for value in values:
                    if not 0 <= value <= 100:
                        self.see_bad_goal(row, i, value)
                self.best[i] = max(self.best[i], *values, NO_GOAL)

    def watch_moves(self) -> list[Bools]:
        """(rows, moves) for each role, after the rows are gone in which a role has none."""
        legal = [self.reasoner.legal(self.states, i) for i in range(len(self.best))]
        can_move = np.array([moves.any(axis=1) for moves in legal])  # (roles, rows)
        for i, row in np.argwhere(~can_move):
            self.see(row, error, "no move", f"{self.reasoner.roles[i]} has no legal move", i)
        going: Bools = np.logical_and.reduce(can_move)
        self.keep(going)
        return [moves[going] for moves in legal]

    def keep(self, rows: Bools) -> None:
        self.numbers, self.states, self.goals = self.numbers[rows], self.states[rows], self.goals[rows]

    def conclude(self) -> None:
        for i, role in self.players.items():
            if self.ended and self.best[i] < 100:
                best = "it had no goal" if self.best[i] == NO_GOAL else f"its best goal was {self.best[i]}"
                self.tell(note, "never won", f"{role} won none of {self.ended} playouts, {best}", i)

    def see_bad_goal(self, row: int, i: int, value: int) -> None:
        self.see(row, error, "bad goal", f"{self.reasoner.roles[i]}'s goal is {value}, expected 0 to 100,", i)

    def see(self, row: int, kind: Kind, what: str, message: str, role: int | None = None) -> None:
        """Tells what the state of a row shows."""
        if (what, role) not in self.findings:
            state = shown(" ".join(sorted(map(str, self.reasoner.facts(self.states[[row]])[0]))), 120)
            message = f"playout {self.numbers[row]}, step {self.step}: {message} in {state or 'the empty state'}"
            self.tell(kind, what, message, role)

    def tell(self, kind: Kind, what: str, message: str, role: int | None = None) -> None:
        self.findings.setdefault((what, role), kind(0, message))


Kind = Callable[[int, str], Finding]  # error, warning or note
