"""What every engine answers: the rules of one game as operations on batches of states.

Row i of every answer belongs to row i of `states`. `States` is a NumPy array whose first axis are the rows, so that
rows are picked, repeated and joined with NumPy; what a row looks like inside is the engine's own business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ggp.errors import IllegalMove, MemoryLimit
from ggp.terms import Fact, Move

States = npt.NDArray[Any]  # (n, …), the engine's own
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DEFAULT_TIME_LIMIT = 60.0  # seconds for getting ready, and for one answer
DEFAULT_MEMORY_LIMIT = 4 << 30  # bytes
DEFAULT_MAX_STEPS = 10_000  # public games may cycle; a playout stops here
MAX_CHILDREN = 1 << 24  # of one call of `expand`
NO_GOAL = -1  # what `goals` says where the rules give a role no goal


def shown_size(size: float) -> str:
    """Bytes for messages, in the units of `--memory-limit`.

    >>> shown_size(4 << 30), shown_size(200 << 20)
    ('4.0 GB', '200 MB')
    """
    return f"{size / 2**30:.1f} GB" if size >= 2**30 else f"{size / 2**20:.0f} MB"


class MoveTable:
    """The moves of one role, numbered. It only grows, and a number never changes its meaning.

    >>> from ggp.parser import parse_ground
    >>> table = MoveTable("white")
    >>> table.add(parse_ground("(mark 1 1)")), table.add(parse_ground("noop")), table.add(parse_ground("(mark 1 1)"))
    (0, 1, 0)
    >>> str(table[0]), len(table)
    ('(mark 1 1)', 2)
    """

    def __init__(self, role: str) -> None:
        self.role = role
        self._terms: list[Move] = []
        self._ids: dict[Move, int] = {}

    def add(self, move: Move) -> int:
        number = self._ids.setdefault(move, len(self._terms))
        if number == len(self._terms):
            self._terms.append(move)
        return number

    def id(self, move: Move) -> int:
        try:
            return self._ids[move]
        except KeyError:
            raise IllegalMove(f"{move} is not a move of {self.role}") from None

    def __getitem__(self, number: int) -> Move:
        return self._terms[number]

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[Move]:
        return iter(self._terms)

    def __contains__(self, move: object) -> bool:
        return move in self._ids


@dataclass(frozen=True)
class Playouts:
    """Random games played to their end from each row: `goals[i, j]` and `steps[i, j]` of game j from row i."""

    goals: Ints  # (rows, n, roles)
    steps: Ints  # (rows, n)


@dataclass(frozen=True)
class Children:
    """All children of all rows: child k is reached from row `parents[k]` by `joint[k]`. Terminal rows have none."""

    parents: Ints  # (m,)
    joint: Ints  # (m, roles)
    states: States  # (m, …)
    terminal: Bools  # (m,)
    goals: Ints  # (m, roles)


class Reasoner(Protocol):
    """One game's rules, compiled by one engine. Safe to call from any thread."""

    @property
    def engine(self) -> str: ...
    @property
    def roles(self) -> tuple[str, ...]: ...
    @property
    def moves(self) -> tuple[MoveTable, ...]: ...  # per role: move id ↔ term

    def initial(self, n: int = 1) -> States: ...
    def legal(self, states: States, role: int) -> Bools:
        """(n, moves of the role): which moves are legal. As wide as the role's table is after the call."""
        ...

    def step(self, states: States, joint: npt.ArrayLike) -> States:
        """Positions after playing row i of `joint` (n, roles: move ids) in row i. Legality is not checked."""
        ...

    def terminal(self, states: States) -> Bools: ...
    def goals(self, states: States) -> Ints:
        """(n, roles): the highest goal value that the rules give, −1 where they give none."""
        ...

    def goal_values(self, states: States, role: int) -> list[tuple[int, ...]]:
        """All goal values that the rules give the role, ascending; a sound game has exactly one at its end."""
        ...

    def sees(self, states: States, joint: npt.ArrayLike, role: int) -> list[tuple[Fact, ...]]:
        """GDL-II: what the role perceives when `joint` is played, sorted as GDL text."""
        ...

    def playouts(
        self,
        states: States,
        n: int,
        rng: np.random.Generator,
        odds: Sequence[npt.ArrayLike | None] | None = None,
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
    ) -> Playouts:
        """`n` random games from each row. Moves are uniform, or per role in proportion to `odds[role][move id]`.

        A move beyond the end of its `odds` weighs 1; where all legal moves weigh 0 they are uniform.
        """
        ...

    def bulk(self, size: int, rng: np.random.Generator) -> tuple[int, int]:
        """Random play from the initial state as fast as the engine can: how many states and finished games it was.

        `size` is how much of it, in what the engine does at once: games, or steps of 512 games that start anew as they
        end. For benchmarks; games that are still going when it stops are not counted.
        """
        ...

    def expand(self, states: States) -> Children:
        """All children; MemoryLimit where moves at the same time make more than `MAX_CHILDREN`."""
        ...

    def keys(self, states: States) -> list[bytes]:
        """Compact hashable keys, equal exactly where the states are equal; only for this reasoner."""
        ...

    def facts(self, states: States) -> list[frozenset[Fact]]: ...
    def encode(self, facts: Iterable[Iterable[Fact]]) -> States:
        """The states in which exactly these facts hold: the inverse of `facts`."""
        ...

    def close(self) -> None:
        """Gives back what the engine holds; asking again starts it again."""
        ...


def refuse_too_many(legal: Sequence[Bools]) -> None:
    """Raises MemoryLimit where these moves, (n, moves) for each role, make more joint moves than can be listed."""
    size = float(np.prod([moves.sum(axis=1, dtype=np.float64) for moves in legal], axis=0).sum())
    if size > MAX_CHILDREN:
        raise MemoryLimit(f"{size:.3g} joint moves, expected at most {MAX_CHILDREN} at once")


def expand(reasoner: Reasoner, states: States) -> Children:
    """`Reasoner.expand` out of the other operations, for engines without a faster way."""
    live = np.flatnonzero(~reasoner.terminal(states))
    legal = [reasoner.legal(states[live], role) for role in range(len(reasoner.roles))]
    refuse_too_many(legal)
    parents: list[npt.NDArray[np.int64]] = []
    joints: list[npt.NDArray[np.int64]] = []
    for i, row in enumerate(live):
        choices = [np.flatnonzero(moves[i]) for moves in legal]
        grid = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))
        parents.append(np.full(len(grid), row))
        joints.append(grid)
    parent = np.concatenate(parents) if parents else np.zeros(0, np.int64)
    joint = np.concatenate(joints) if joints else np.zeros((0, len(reasoner.roles)), np.int64)
    children = reasoner.step(states[parent], joint)
    return Children(parent, joint, children, reasoner.terminal(children), reasoner.goals(children))
