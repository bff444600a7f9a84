"""Players that do not think: random, the first legal move, and a person at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

import numpy as np

from ggp.game import Moves, State
from ggp.match import Deadline, Happened, Percepts
from ggp.render import draw
from ggp.terms import Move
from player.strategies.base import Player


class Random(Player):
    """Plays any legal move, all with the same probability."""

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        legal = self.legal(state, deadline)
        return legal[int(self.rng.integers(len(legal)))]


class Legal(Player):
    """Plays the first legal move, sorted as GDL text."""

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        return self.legal(state, deadline)[0]


class Human(Player):
    """A person: sees the position and the numbered moves, types a number, a move, or how it begins.

    The end of the input ends the match, as ctrl-c does: both are KeyboardInterrupt.
    """

    def __init__(
        self, rng: np.random.Generator, read: Callable[[str], str] | None = None, screen: TextIO | None = None
    ) -> None:
        super().__init__(rng)
        self.read = read or input
        self.screen = screen or sys.stdout

    def choose(self, state: State | None, deadline: Deadline) -> Move:
        legal = self.legal(state, deadline)
        if len(legal) == 1:
            return legal[0]  # no choice, no question
        if state is not None:
            self.say(f"\n{draw(state)}\n")
        self.say("  ".join(f"{i}: {move}" for i, move in enumerate(legal, 1)))
        while True:
            try:
                answer = self.read(f"{self.role}, your move: ")
            except EOFError:
                raise KeyboardInterrupt from None
            found = meant(answer, legal)
            if isinstance(found, str):
                self.say(found)
            else:
                return found

    def observe(self, happened: Happened, state: State | None) -> None:
        super().observe(happened, state)
        if isinstance(happened, Percepts):
            self.say(f"{self.role} played {happened.move} and sees {' '.join(map(str, happened.seen)) or 'nothing'}")

    def say(self, text: str) -> None:
        print(text, file=self.screen, flush=True)


def meant(answer: str, legal: Moves) -> Move | str:
    """The legal move that a person means by a number, by GDL text or by how it begins; else what to tell them.

    >>> from ggp.parser import parse_ground
    >>> moves = Moves([parse_ground(text) for text in ("(mark 1 1)", "(mark 2 1)", "noop")])
    >>> str(meant("2", moves)), str(meant("(mark 1 1)", moves)), str(meant("mark 2", moves)), str(meant("no", moves))
    ('(mark 2 1)', '(mark 1 1)', '(mark 2 1)', 'noop')
    >>> meant("mark", moves)
    "'mark' may be (mark 1 1), (mark 2 1): please go on"
    """
    text = " ".join(answer.split()).lower()
    if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(legal):
        return legal[int(text) - 1]
    if (exact := legal.find(answer)) is not None:
        return exact
    fitting = [move for move in legal if text and str(move).lower().lstrip("(").startswith(text.lstrip("( "))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        return f"{answer!r} may be {', '.join(map(str, fitting[:5]))}{', …' * (len(fitting) > 5)}: please go on"
    return f"{answer!r} is no legal move: please type a number from 1 to {len(legal)}, or a move"
