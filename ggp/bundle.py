"""The games that come with Augur: package data of `gdl_games`, also from an installed wheel."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def names() -> tuple[str, ...]:
    """Names of the bundled games, sorted."""
    return tuple(sorted(f.name.removesuffix(".kif") for f in files("gdl_games").iterdir() if f.name.endswith(".kif")))


def text(name: str) -> str:
    """The rulesheet of a bundled game."""
    return (files("gdl_games") / f"{name}.kif").read_text(encoding="utf-8")
