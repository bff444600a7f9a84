"""A match: strategies play, the judge keeps the clock, replaces what is not a move, and writes down what happened.

Strategies run in the judge's own thread, so a late one is found out only after it has answered.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ParamSpec, Protocol

from ggp.errors import IllegalMove, TimeLimit
from ggp.game import Game, Moves, State
from ggp.reasoner import DEFAULT_MAX_STEPS
from ggp.terms import Fact, Move

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)

P = ParamSpec("P")
Clock = Callable[[], float]


@dataclass(frozen=True)
class Deadline:
    """A moment that must not be missed.

    >>> deadline = Deadline.after(5, clock=lambda: 100.0)
    >>> deadline.remaining, deadline.passed
    (5.0, False)
    """

    at: float  # on `clock`
    clock: Clock = time.monotonic

    @classmethod
    def after(cls, seconds: float, *, since: float | None = None, clock: Clock = time.monotonic) -> Deadline:
        """`seconds` from now, or from `since`: when a message's first byte arrived, say."""
        return cls((clock() if since is None else since) + seconds, clock)

    @property
    def remaining(self) -> float:
        """Seconds that are left, never less than 0."""
        return max(0.0, self.at - self.clock())

    @property
    def passed(self) -> bool:
        return self.clock() > self.at

    def part(self, share: float) -> Deadline:
        """When this share of the time that is left will have passed."""
        return Deadline.after(share * self.remaining, clock=self.clock)


@dataclass(frozen=True)
class Percepts:
    """What a player of a GDL-II game learns of a step: the move that counted for it, and what it sees."""

    move: Move
    seen: tuple[Fact, ...]


Happened = tuple[Move, ...] | Percepts  # everybody's moves, or in GDL-II one's own and the percepts


class Strategy(Protocol):
    """One player of one match. In GDL-II the state is None throughout: the player has its percepts."""

    def prepare(self, game: Game, role: str, deadline: Deadline) -> None:
        """Called once, on the start clock."""
        ...

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        """The move to play, on the play clock."""
        ...

    def observe(self, happened: Happened, state: State | None) -> None:
        """Told after each step; `state` is the one that was reached."""
        ...

    def ponder(self, deadline: Deadline) -> None:
        """Time while others think; in-process matches give none."""
        ...

    def end(self, goals: Mapping[str, int | None]) -> None: ...


@dataclass(frozen=True)
class Fault:
    """Something that a player did wrong; the judge played a random legal move instead.

    `kind`: `illegal` (not a legal move), `late` (after the deadline, or it raised TimeLimit), `error` (it raised
    anything else), `start` (it raised or was late while preparing; it plays on), `stuck` (the rules give it no move;
    the match ends).
    """

    step: int
    role: str
    kind: str


FAULTS = ("illegal", "late", "error", "start", "stuck")


@dataclass(frozen=True)
class Step:
    """What the watcher of a match is told: the state that was reached, and how."""

    number: int  # moves played so far
    state: State
    moves: tuple[Move, ...] | None  # None at the start
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Match:
    """A match as it is recorded: `states[i + 1]` follows from `states[i]` by `moves[i]`, one move per role."""

    id: str
    game: str
    rule_hash: str
    roles: tuple[str, ...]
    players: tuple[str, ...]  # one per role, "" where nobody knows
    start_clock: float  # seconds
    play_clock: float
    states: tuple[frozenset[Fact], ...]
    moves: tuple[tuple[Move, ...], ...]
    errors: tuple[Fault, ...] = ()
    goals: tuple[int | None, ...] = ()  # one per role; those of the last state, also where the match was cut short
    completed: bool = True  # whether the last state is terminal
    seed: int | None = None

    @property
    def scores(self) -> dict[str, int | None]:
        return dict(zip(self.roles, self.goals, strict=True))


def seats(game: Game, players: int) -> list[int]:
    """Indices of the roles that `players` players take, in order; `random` is left to the judge if one fewer comes.

    >>> seats(Game.parse("(role random) (role guesser)"), 1)
    [1]
    """
    everybody = range(len(game.roles))
    without_chance = list(game.players)
    for indices in ([*everybody], without_chance):
        if len(indices) == players:
            return indices
    wanted = ", ".join(game.roles[i] for i in without_chance)
    raise ValueError(f"{players} given, expected {len(without_chance)} for {game.name}: {wanted}")


def play_match(
    game: Game,
    strategies: Sequence[Strategy],
    *,
    rng: np.random.Generator,
    start_clock: float = inf,
    play_clock: float = inf,
    max_steps: int = DEFAULT_MAX_STEPS,
    initial: State | None = None,
    players: Sequence[str] | None = None,
    match_id: str = "",
    seed: int | None = None,
    on_step: Callable[[Step], None] | None = None,
    clock: Clock = time.monotonic,
) -> Match:
    """The match that these strategies play, in the order of the roles.

    The role `random` of a game with dice is played by the judge, uniformly, and takes no strategy, unless there is one
    for every role. `players` are the strategies' names, `match_id` and `seed` are only recorded. What `on_step` raises,
    and KeyboardInterrupt, ends the match.
    """
    taken = seats(game, len(strategies))
    playing = dict(zip(taken, strategies, strict=True))
    names = dict(zip(taken, players or [type(s).__name__.lower() for s in strategies], strict=True))
    state = initial or game.initial
    errors: list[Fault] = []
    for index, strategy in playing.items():
        deadline = Deadline.after(start_clock, clock=clock)
        ready = _guarded(strategy.prepare, game, game.roles[index], deadline)
        if not ready or deadline.passed:
            errors.append(Fault(0, game.roles[index], "start"))
    states, moves = [state.facts], list[tuple[Move, ...]]()
    if on_step:
        on_step(Step(0, state, None, tuple(errors)))
    while not state.is_terminal and len(moves) < max_steps:
        step = len(moves)
        legal = [state.legal(role) for role in game.roles]
        stuck = [Fault(step, role, "stuck") for role, options in zip(game.roles, legal, strict=True) if not options]
        if stuck:
            errors += stuck
            break
        joint: list[Move] = []
        faults: list[Fault] = []
        for index, role in enumerate(game.roles):
            move, kind = None, ""
            if index in playing:
                move, kind = _asked(playing[index], state, legal[index], Deadline.after(play_clock, clock=clock))
            if kind:
                faults.append(Fault(step, role, kind))
            joint.append(move or legal[index][int(rng.integers(len(legal[index])))])
        seen = state.sees(*joint) if game.is_imperfect else {}
        state = state.play(*joint)
        errors += faults
        moves.append(tuple(joint))
        states.append(state.facts)
        for index, strategy in playing.items():
            if game.is_imperfect:
                _guarded(strategy.observe, Percepts(joint[index], seen[game.roles[index]]), None)
            else:
                _guarded(strategy.observe, tuple(joint), state)
        if on_step:
            on_step(Step(step + 1, state, tuple(joint), tuple(faults)))
    for strategy in playing.values():
        _guarded(strategy.end, state.goals)
    return Match(
        id=match_id or f"{game.name}.{int(rng.integers(1 << 32)):08x}",
        game=game.name,
        rule_hash=game.rule_hash,
        roles=game.roles,
        players=tuple(names.get(i, "random") for i in range(len(game.roles))),
        start_clock=start_clock,
        play_clock=play_clock,
        states=tuple(states),
        moves=tuple(moves),
        errors=tuple(errors),
        goals=tuple(state.goals.values()),
        completed=state.is_terminal,
        seed=seed,
    )


def _asked(strategy: Strategy, state: State, legal: Moves, deadline: Deadline) -> tuple[Move | None, str]:
    """The strategy's legal move, else None and the kind of its fault."""
    try:
        move = strategy.choose(None if state.game.is_imperfect else state, deadline)
        found = legal.find(move)
        if found is None:
            raise IllegalMove(f"{move} is not among the {len(legal)} legal moves")
    except IllegalMove as error:
        log.warning("%s: %s", type(strategy).__name__, error)
        return None, "illegal"
    except TimeLimit as error:
        log.warning("%s: %s", type(strategy).__name__, error)
        return None, "late"
    except Exception:
        log.exception("%s failed, a random move is played for it", type(strategy).__name__)
        return None, "error"
    return (None, "late") if deadline.passed else (found, "")


def _guarded(call: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Whether the call came back; if it raised, the match goes on without it."""
    try:
        call(*args, **kwargs)
    except Exception:
        log.exception("%s failed, the match goes on", call)
        return False
    return True
