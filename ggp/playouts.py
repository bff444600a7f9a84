"""How fast is an engine? Whole random games, in batches that grow until one takes long enough to time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ggp.game import Game
from ggp.match import Clock
from ggp.reasoner import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT

WINDOWS = 5


@dataclass(frozen=True)
class Speed:
    """The best of several windows: other processes only ever make it slower."""

    engine: str
    states_per_s: float  # positions after the first, so steps
    playouts_per_s: float
    compile_s: float  # until the first answer
    mean_steps: float
    playouts: int  # all that were played
    windows: int


def speed(
    game: Game,
    engine: str = "auto",
    *,
    seconds: float,
    rng: np.random.Generator,
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
    on_window: Callable[[float], None] = lambda share: None,
    clock: Clock = time.perf_counter,
) -> Speed:
    """Random play for about `seconds`; `on_window` is told which share of it is over."""
    begun = clock()
    reasoner = game.reasoner(engine, time_limit=time_limit, memory_limit=memory_limit)
    start = reasoner.initial()
    reasoner.terminal(start)
    compiled = clock()
    batch, playouts, steps, windows = 1, 0, 0, 0
    best = (0.0, 0.0)
    while windows == 0 or clock() - compiled < seconds:
        since = clock()
        played = reasoner.playouts(start, batch, rng).steps
        taken = max(clock() - since, 1e-9)
        playouts, steps = playouts + batch, steps + int(played.sum())
        if taken < seconds / WINDOWS / 2 and clock() - compiled + taken < seconds:
            batch *= 2  # too short to time
        else:
            windows += 1
            best = max(best, (int(played.sum()) / taken, batch / taken))
        on_window(min(1.0, (clock() - compiled) / seconds))
    return Speed(reasoner.engine, *best, compiled - begun, steps / playouts, playouts, windows)
