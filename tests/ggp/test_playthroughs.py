"""Every engine reproduces the recorded games to the letter, and counts positions as others have counted them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from ggp import bundle
from ggp.game import load
from ggp.playthrough import playthrough

HERE = Path(__file__).parents[1]
ENGINES = ("prolog", "propnet")
with (HERE / "perft.csv").open(newline="") as _file:
    PERFT = list(csv.DictReader(_file))


@pytest.mark.parametrize("name", bundle.names())
@pytest.mark.parametrize("engine", ENGINES)
def test_the_recorded_game_is_reproduced(name: str, engine: str) -> None:
    recorded = HERE / "playthroughs" / f"{name}.txt"
    assert recorded.is_file(), f"record it with scripts/playthroughs {name}"
    game = load(name)
    reasoner = game.reasoner(engine)
    try:
        assert playthrough(game, reasoner, seed=1) == recorded.read_text(encoding="utf-8")
    finally:
        reasoner.close()


@pytest.mark.parametrize("row", PERFT, ids=[row["game"] for row in PERFT])
@pytest.mark.parametrize("engine", ENGINES)
def test_sequences_of_moves_by_depth(row: dict[str, str], engine: str) -> None:
    """Column k counts the sequences of k joint moves; a game that is over has no more."""
    reasoner = load(row["game"]).reasoner(engine)
    states, counts = reasoner.initial(), np.ones(1, np.int64)
    expected = [int(row[k]) for k in "1234567" if row[k]]
    found = []
    for _ in expected:
        children = reasoner.expand(states)
        number = np.unique(reasoner.keys(children.states), return_index=True, return_inverse=True)
        found.append(int(counts[children.parents].sum()))
        counts = np.bincount(number[2], counts[children.parents]).astype(np.int64)
        states = children.states[number[1]]
    reasoner.close()
    assert found == expected
