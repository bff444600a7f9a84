"""What can go wrong, as one tree: catch `GGPError` for all of it, or the builtin that each error resembles.

GGPError
├── GdlSyntaxError (ValueError)        text that is not GDL; `.problems` lists every place
├── GdlError (ValueError)              GDL that is no game: no roles, a head that is a keyword of the body, …
├── UnknownGame (LookupError)          neither a bundled name nor a file
├── UnknownPlayer (ValueError)         a PLAYER text that names no player, or an option that it does not have
├── IllegalMove (ValueError)           a move that the rules do not allow here, or that is not a move at all
├── RecordError (ValueError)           a match record or a trace that is damaged or foreign
└── ReasonerError (RuntimeError)       an engine could not answer
    ├── EngineMissing                  it is not installed; the message says how to install it
    ├── TimeLimit (TimeoutError)       no answer within the caller's time limit
    └── MemoryLimit (MemoryError)      no answer within the caller's memory limit
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """One finding in a rulesheet, printed the way compilers do."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class GGPError(Exception):
    """Base of every error that Augur raises on purpose."""


class GdlSyntaxError(GGPError, ValueError):
    """Text that is not GDL. `problems` lists each place, in order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)))

    def __reduce__(self) -> tuple[type[GdlSyntaxError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class GdlError(GGPError, ValueError):
    """Well-formed GDL that does not describe a game."""


class UnknownGame(GGPError, LookupError):
    """Neither a bundled game nor a readable file."""


class UnknownPlayer(GGPError, ValueError):
    """A PLAYER text that names no player, or an option that it does not have."""


class IllegalMove(GGPError, ValueError):
    """A move that the rules do not allow in this state, or that is no move of the game."""


class RecordError(GGPError, ValueError):
    """A match record or trace that is damaged or belongs to another game."""


class ReasonerError(GGPError, RuntimeError):
    """The engine could not answer; it lives on and may be asked again."""


class EngineMissing(ReasonerError):
    """The engine is not installed here; the message says how to install it."""


class TimeLimit(ReasonerError, TimeoutError):
    """The rules gave no answer within the time limit that the caller set."""


class MemoryLimit(ReasonerError, MemoryError):
    """The rules gave no answer within the memory limit that the caller set."""
