"""PLAYER texts: which strategy plays, and with which options. `prob-maxn:depth=4:models=own+lead`.

A new player is one entry in `PLAYERS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ggp.errors import UnknownPlayer

if TYPE_CHECKING:
    from ggp.match import Strategy

# name → where its class is, imported when it is first wanted. Options are the keyword arguments of the class that have
# a plain default; a list is a tuple default, and a number is converted as its default.
PLAYERS = {
    "random": "player.strategies.simple:Random",
    "legal": "player.strategies.simple:Legal",
    "human": "player.strategies.simple:Human",
    "uct": "player.strategies.uct:UCT",
    "maxn": "player.strategies.search:MaxN",
    "paranoid": "player.strategies.search:Paranoid",
    "soft-maxn": "player.strategies.search:SoftMaxN",
    "prob-maxn": "player.strategies.search:ProbMaxN",
    "max-prob": "player.strategies.search:MaxProb",
    "mp-mix": "player.strategies.search:MPMix",
    "default": "player.strategies.default:Default",
}


@dataclass(frozen=True)
class Player:
    """A player by name and options: call it with a generator to get its strategy. Travels to other processes."""

    text: str
    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, rng: np.random.Generator) -> Strategy:
        strategy: Strategy = _class(self.name)(rng, **dict(self.options))
        return strategy

    def __str__(self) -> str:
        return self.text


def parse_player(text: str) -> Player:
    """The player that a PLAYER text means.

    >>> parse_player("random").name
    'random'
    >>> parse_player("deep-thought")
    Traceback (most recent call last):
    ggp.errors.UnknownPlayer: player 'deep-thought': expected one of default, human, legal, ...
    """
    text = text.strip()
    if re.match(r"https?://", text, re.IGNORECASE):
        raise UnknownPlayer(f"player {text!r}: players on the wire are not there yet, expected one of {known()}")
    name, *given = text.split(":")
    if name not in PLAYERS:
        raise UnknownPlayer(f"player {name!r}: expected one of {known()}")
    defaults = _defaults(_class(name))
    options = []
    for option in given:
        key, equals, value = option.partition("=")
        if not equals or key not in defaults or defaults[key] is None:
            having = [k for k, default in defaults.items() if default is not None]
            raise UnknownPlayer(f"player {text!r}: option {option!r}, expected {_options(having)}")
        options.append((key, _converted(text, key, value, defaults[key])))
    player = Player(text, name, tuple(options))
    try:
        player(np.random.default_rng())  # whether such values are taken
    except ValueError as error:
        raise UnknownPlayer(f"player {text!r}: {error}") from None
    return player


def parse_players(text: str) -> tuple[Player, ...]:
    """Players with commas between them, in the order of the roles."""
    return tuple(parse_player(part) for part in text.split(","))


def known() -> str:
    return ", ".join(sorted(PLAYERS))


def _defaults(kind: type) -> dict[str, Any]:
    """The plain keyword arguments of a class, and of those above it as far as it hands others on."""
    found: dict[str, Any] = {}
    for ancestor in kind.__mro__:
        if "__init__" in vars(ancestor):
            parameters = signature(vars(ancestor)["__init__"]).parameters.values()
            plain = [p for p in parameters if p.default is None or isinstance(p.default, int | float | str | tuple)]
            found = {p.name: p.default for p in plain} | found
            if all(p.kind is not Parameter.VAR_KEYWORD for p in parameters):
                break
    return found


def _class(name: str) -> Any:
    module, _, attribute = PLAYERS[name].partition(":")
    return getattr(import_module(module), attribute)


def _options(names: Sequence[str]) -> str:
    return f"one of {', '.join(f'{name}=…' for name in names)}" if names else "none"


def _converted(text: str, key: str, value: str, default: Any) -> Any:
    """The value in the kind of the option's default; lists have a plus between their items."""
    if isinstance(default, tuple):
        sample = default[0] if default else 0.0
        return tuple(_converted(text, key, item, sample) for item in value.split("+"))
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False, "yes": True, "no": False}[value.lower()]
        return type(default)(value)
    except (ValueError, KeyError):
        raise UnknownPlayer(f"player {text!r}: {key}={value}, expected {type(default).__name__}") from None
