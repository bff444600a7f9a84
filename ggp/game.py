"""`Game` and `State`: the friendly face. A state is a batch of one; loops that must be fast use the `Reasoner`."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from ggp import bundle
from ggp.errors import EngineMissing, GdlError, GdlSyntaxError, IllegalMove, ReasonerError, UnknownGame
from ggp.parser import Rulesheet, parse, parse_ground
from ggp.parser import load as load_rulesheet
from ggp.reasoner import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT, NO_GOAL, Reasoner, States
from ggp.terms import Fact, Move, Rule, is_ground
from ggp.validate import malformed

if TYPE_CHECKING:
    from ggp.canonical import Structure
    from ggp.propnet import PropnetReasoner

ENGINES = ("auto", "propnet", "prolog")

log = logging.getLogger(__name__)


def load(game: str | Path) -> Game:
    """A bundled game by name, or any game by path.

    >>> load("tic_tac_toe").roles
    ('xplayer', 'oplayer')
    >>> load("no_such_game")
    Traceback (most recent call last):
    ggp.errors.UnknownGame: no_such_game: neither a bundled game (see `ggp games`) nor a file
    """
    name = str(game)
    if name in bundle.names():
        return Game(parse(bundle.text(name), name=f"{name}.kif"), name)
    path = Path(game)
    if path.is_dir() or not path.exists():  # a pipe is as good as a file
        raise UnknownGame(f"{name}: neither a bundled game (see `ggp games`) nor a file")
    try:
        return Game(load_rulesheet(path), path.name.removesuffix(".kif"))
    except OSError as error:
        raise UnknownGame(f"{name}: {error.strerror}") from error


class Game:
    """The rules of one game, ready to be asked.

    >>> game = Game.parse("(role robot) (init (light off)) (<= (legal robot press) (true (light off)))"
    ...                   "(<= (next (light on)) (does robot press)) (<= terminal (true (light on)))"
    ...                   "(<= (goal robot 100) (true (light on)))")
    >>> game.initial.play("press").goals
    {'robot': 100}
    """

    def __init__(self, rulesheet: Rulesheet, name: str) -> None:
        self.rulesheet = rulesheet
        self.name = name
        self.roles = _roles(rulesheet)
        if problems := malformed(rulesheet):
            raise GdlSyntaxError(problems)
        self._settings = ("auto", DEFAULT_TIME_LIMIT, DEFAULT_MEMORY_LIMIT)
        self._reasoners: dict[tuple[str, float, int], Reasoner] = {}
        self._lock = threading.Lock()

    @classmethod
    def parse(cls, text: str, name: str = "game") -> Game:
        return cls(parse(text, name=name), name)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.rulesheet.rules

    @cached_property
    def rule_hash(self) -> str:
        """Equal for the same rules, whatever their layout, comments, variable names and order; hexadecimal."""
        from ggp.canonical import rule_hash

        return rule_hash(self.rules)

    @cached_property
    def structure(self) -> Structure:
        """The rules with all names taken out; `structure.hash` is equal for games that differ only in names."""
        from ggp.canonical import structure

        return structure(self.rules)

    @cached_property
    def is_imperfect(self) -> bool:
        """Whether the game is GDL-II: it has percepts, so that players do not see the state."""
        return any(rule.head.name == "sees" for rule in self.rules)

    @property
    def chance(self) -> int | None:
        """Index of the role `random`, whose moves are dice; None where there is none."""
        return next((i for i, role in enumerate(self.roles) if role.lower() == "random"), None)

    @cached_property
    def players(self) -> tuple[int, ...]:
        """Indices of the roles that players take: all but dice."""
        return tuple(i for i in range(len(self.roles)) if i != self.chance)

    def using(
        self,
        engine: str = "auto",
        *,
        time_limit: float = DEFAULT_TIME_LIMIT,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
    ) -> Game:
        """The same game, which asks this engine within these limits where a call does not say otherwise.

        So a match can tell its players, who get the game, what the caller has chosen.
        """
        settings = (engine, time_limit, memory_limit)
        if settings == self._settings:
            return self
        game = copy.copy(self)  # shares the engines that run already
        game._settings = settings
        return game

    def reasoner(
        self, engine: str | None = None, *, time_limit: float | None = None, memory_limit: int | None = None
    ) -> Reasoner:
        """The engine for these rules; the same one for the same arguments.

        `propnet` is the compiled engine, `prolog` the reference. `auto` takes the compiled one where it is ready within
        half of the time, else Prolog, and then logs a warning that says why. What is not given is as `using` has said,
        else `auto`, 60 s for getting ready and for an answer, and 4 GB.
        """
        usual = self._settings
        engine = usual[0] if engine is None else engine
        time_limit = usual[1] if time_limit is None else time_limit
        memory_limit = usual[2] if memory_limit is None else memory_limit
        if engine not in ENGINES:
            raise ValueError(f"engine {engine!r}: expected one of {', '.join(ENGINES)}")
        key = (engine, time_limit, memory_limit)
        with self._lock:
            if key not in self._reasoners:
                self._reasoners[key] = self._start(engine, time_limit, memory_limit)
            return self._reasoners[key]

    def _start(self, engine: str, time_limit: float, memory_limit: int) -> Reasoner:
        if engine != "prolog":
            try:
                ready = time_limit / 2 if engine == "auto" else time_limit
                return _compiled_engine().compile(self.rules, self.roles, time_limit=ready, memory_limit=memory_limit)
            except (ReasonerError, GdlError) as error:
                if engine == "propnet":
                    raise
                log.warning("%s: playing with Prolog, because the compiled engine is not ready: %s", self.name, error)
        from ggp.prolog import PrologReasoner

        return PrologReasoner(self.rules, self.roles, time_limit=time_limit, memory_limit=memory_limit)

    @property
    def initial(self) -> State:
        reasoner = self.reasoner()
        return State(self, reasoner, reasoner.initial())

    def __repr__(self) -> str:
        return f"<Game {self.name}: {', '.join(self.roles)}>"


def _compiled_engine() -> type[PropnetReasoner]:
    try:
        from ggp.propnet import PropnetReasoner
    except (ImportError, RuntimeError) as error:  # numba raises the latter where it finds no folder for its cache
        raise EngineMissing(f"the compiled engine does not work here: {error}") from error
    return PropnetReasoner


def _roles(rulesheet: Rulesheet) -> tuple[str, ...]:
    """The ground role facts, in their order: seats are dealt by it."""
    facts = [r.head for r in rulesheet.rules if r.head.name == "role" and not r.body and is_ground(r.head)]
    roles = tuple(dict.fromkeys(str(fact.args[0]) for fact in facts if len(fact.args) == 1))
    if not roles:
        raise GdlError(f"{rulesheet.source.name}: no (role …) facts, expected at least one")
    return roles


class Moves(Sequence[Move]):
    """Legal moves sorted as GDL text; answers `in` for terms and for text in any spelling of case and spaces."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self._moves = tuple(sorted(moves, key=str))

    @overload
    def __getitem__(self, index: int) -> Move: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Move, ...]: ...
    def __getitem__(self, index: int | slice) -> Move | tuple[Move, ...]:
        return self._moves[index]

    def __len__(self) -> int:
        return len(self._moves)

    def __iter__(self) -> Iterator[Move]:
        return iter(self._moves)

    def __contains__(self, move: object) -> bool:
        return isinstance(move, Move | str) and self.find(move) is not None

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self._moves))}]"

    def find(self, move: Move | str) -> Move | None:
        """The legal move that is meant: spelled exactly so, else the same but for upper and lower case."""
        try:
            wanted = parse_ground(move) if isinstance(move, str) else move
        except GdlSyntaxError:
            return None
        if wanted in self._moves:
            return self._moves[self._moves.index(wanted)]
        folded = str(wanted).lower()
        return next((m for m in self._moves if str(m).lower() == folded), None)


@dataclass(frozen=True, eq=False)
class State:
    """A position. Immutable, hashable, prints as GDL facts.

    >>> state = load("tic_tac_toe").initial
    >>> after = state.play("(mark 1 1)", "noop")
    >>> after.is_terminal, [str(m) for m in after.legal("oplayer")][:1]
    (False, ['(mark 1 2)'])
    >>> "(mark 1 1)" in after.legal("oplayer")
    False
    """

    game: Game
    reasoner: Reasoner = field(repr=False)
    row: States = field(repr=False)  # (1, …)

    @cached_property
    def facts(self) -> frozenset[Fact]:
        return self.reasoner.facts(self.row)[0]

    @cached_property
    def is_terminal(self) -> bool:
        return bool(self.reasoner.terminal(self.row)[0])

    @cached_property
    def goals(self) -> dict[str, int | None]:
        """Each role's goal, None where the rules give none; where they give several, the highest."""
        goals = self.reasoner.goals(self.row)[0]
        return {role: None if goal == NO_GOAL else int(goal) for role, goal in zip(self.game.roles, goals, strict=True)}

    @cached_property
    def _legal(self) -> dict[str, Moves]:
        found = {}
        for index, role in enumerate(self.game.roles):
            legal = self.reasoner.legal(self.row, index)[0]
            table = self.reasoner.moves[index]
            found[role] = Moves([table[int(i)] for i in legal.nonzero()[0]])
        return found

    def legal(self, role: str) -> Moves:
        """The moves that `role` may play here, sorted as GDL text."""
        try:
            return self._legal[role]
        except KeyError:
            raise ValueError(f"role {role!r}: expected one of {', '.join(self.game.roles)}") from None

    def play(self, *moves: Move | str) -> State:
        """The position after every role played its move, in the order of the roles."""
        return State(self.game, self.reasoner, self.reasoner.step(self.row, [self._joint(moves)]))

    def sees(self, *moves: Move | str) -> dict[str, tuple[Fact, ...]]:
        """GDL-II: what each role perceives when these moves are played here."""
        joint = [self._joint(moves)]
        return {role: self.reasoner.sees(self.row, joint, i)[0] for i, role in enumerate(self.game.roles)}

    def _joint(self, moves: Sequence[Move | str]) -> list[int]:
        if len(moves) != len(self.game.roles):
            raise IllegalMove(f"{len(moves)} moves, expected one for each of {', '.join(self.game.roles)}")
        joint = []
        for index, (role, move) in enumerate(zip(self.game.roles, moves, strict=True)):
            legal = self.legal(role)
            found = legal.find(move)
            if found is None:
                raise IllegalMove(f"{role} cannot play {move} here, expected one of {shortened(legal)}")
            joint.append(self.reasoner.moves[index].id(found))
        return joint

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.facts == other.facts and (self.game is other.game or self.game.rule_hash == other.game.rule_hash)

    def __hash__(self) -> int:
        return hash(self.facts)

    def __str__(self) -> str:
        return "\n".join(sorted(map(str, self.facts)))


def shortened(moves: Sequence[Move], most: int = 8) -> str:
    """The first few moves, for messages."""
    return ", ".join(map(str, moves[:most])) + (f", … ({len(moves)} in all)" if len(moves) > most else "")
