"""Augur's core: GDL games as states and legal moves.

>>> import ggp
>>> state = ggp.load("tic_tac_toe").initial
>>> len(state.legal("xplayer"))
9

Names are imported when first used, so that `import ggp` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggp.errors import GdlError, GdlSyntaxError, GGPError, IllegalMove, ReasonerError, UnknownGame
    from ggp.game import Game, State, load
    from ggp.parser import parse, parse_term
    from ggp.reasoner import Reasoner
    from ggp.terms import Compound, Rule, Symbol, Term, Variable

_HOMES = {
    "ggp.errors": ("GGPError", "GdlError", "GdlSyntaxError", "IllegalMove", "ReasonerError", "UnknownGame"),
    "ggp.game": ("Game", "State", "load"),
    "ggp.parser": ("parse", "parse_term"),
    "ggp.reasoner": ("Reasoner",),
    "ggp.terms": ("Compound", "Rule", "Symbol", "Term", "Variable"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Compound", "GGPError", "Game", "GdlError", "GdlSyntaxError", "IllegalMove", "Reasoner", "ReasonerError", "Rule",
    "State", "Symbol", "Term", "UnknownGame", "Variable", "load", "parse", "parse_term",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ggp' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
