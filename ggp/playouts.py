"""How fast is an engine? Whole random games, in batches that grow until one takes long enough to time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ggp.errors import GGPError
from ggp.game import Game, load
from ggp.match import Clock
from ggp.reasoner import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT, Reasoner

WINDOWS = 5
SAMPLE = 12  # states for which single answers are timed
MOST_CHILDREN = 100_000  # of one of them, for listing all to be timed


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
    gates: int | None = None  # of the compiled engine's network
    children_us: float | None = None  # all children of one state, asked from inside a kernel
    step_us: float | None = None  # one step of one state, likewise


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
    with closing(game.reasoner(engine, time_limit=time_limit, memory_limit=memory_limit)) as reasoner:
        return _measured(reasoner, begun, seconds, rng, on_window, clock)


def _measured(
    reasoner: Reasoner,
    begun: float,
    seconds: float,
    rng: np.random.Generator,
    on_window: Callable[[float], None],
    clock: Clock,
) -> Speed:
    reasoner.terminal(reasoner.initial())
    compiled = clock()
    batch, playouts, steps, windows = 1, 0, 0, 0
    best = (0.0, 0.0)
    while windows == 0 or clock() - compiled < seconds:
        since = clock()
        states, games = reasoner.bulk(batch, rng)
        taken = max(clock() - since, 1e-9)
        playouts, steps = playouts + games, steps + states
        if taken < seconds / WINDOWS / 2 and clock() - compiled + taken < seconds:
            batch *= 2  # too short to time
        else:
            windows += 1
            best = max(best, (states / taken, games / taken))
        on_window(min(1.0, (clock() - compiled) / seconds))
    found = Speed(reasoner.engine, *best, compiled - begun, steps / max(playouts, 1), playouts, windows)
    if reasoner.engine == "propnet":
        return replace(found, **_single(reasoner, rng, clock))
    return found


def _single(reasoner: Any, rng: np.random.Generator, clock: Clock) -> dict[str, Any]:
    """What one state at a time costs the compiled engine, over the states of the beginning of a random game."""
    states, joints, most = [reasoner.initial()], [], 0
    for _ in range(SAMPLE):
        legal = [np.flatnonzero(reasoner.legal(states[-1], role)[0]) for role in range(len(reasoner.roles))]
        if reasoner.terminal(states[-1])[0] or not all(map(len, legal)):
            break
        most = max(most, math.prod(map(len, legal)))
        joints.append([int(rng.choice(moves)) for moves in legal])
        states.append(reasoner.step(states[-1], [joints[-1]]))
    if not joints:
        return {"gates": reasoner.gates}
    sample = np.concatenate(states[: len(joints)])

    def cost(work: Callable[[int], Any]) -> float:
        times, best = 1, math.inf
        for _ in range(4 * WINDOWS):
            since = clock()
            work(times)
            taken = max(clock() - since, 1e-9)
            best = min(best, 1e6 * taken / times / len(sample))
            if taken < 0.005:
                times *= 2
        return best

    return {
        "gates": reasoner.gates,
        "children_us": cost(lambda times: reasoner.repeat_children(sample, times)) if most <= MOST_CHILDREN else None,
        "step_us": cost(lambda times: reasoner.repeat_steps(sample, joints, times)),
    }


def two_threads(game: Game, *, seconds: float, seed: int, clock: Clock = time.perf_counter) -> float:
    """How many times as much the compiled engine plays in two threads as in one."""
    reasoner = game.reasoner("propnet")
    size = 64
    while _timed(reasoner, size, 1, seed, clock) < seconds:
        size *= 2
    one, two = (min(_timed(reasoner, size, n, seed, clock) for _ in range(WINDOWS)) for n in (1, 2))
    return 2 * one / two


def _timed(reasoner: Reasoner, size: int, threads: int, seed: int, clock: Clock) -> float:
    crew = [threading.Thread(target=reasoner.bulk, args=(size, np.random.default_rng(seed))) for _ in range(threads)]
    since = clock()
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return clock() - since


@dataclass(frozen=True)
class Benchmark:
    """How fast one game is with one engine, and how fast the machine was at that time; `speed` is None if it failed."""

    game: str
    engine: str
    kernel_per_s: float
    speed: Speed | None = None
    why: str = ""

    @property
    def states_per_s(self) -> float:
        return self.speed.states_per_s if self.speed else 0.0

    @property
    def ratio(self) -> float:
        """States for each pass of the reference kernel: about the same on a machine that is slower today."""
        return self.states_per_s / self.kernel_per_s

    def figures(self) -> dict[str, Any]:
        """All of it for JSON."""
        found = asdict(self.speed) if self.speed else {"engine": self.engine, "states_per_s": 0.0, "why": self.why}
        return {"game": self.game, **found, "kernel_per_s": self.kernel_per_s, "ratio": self.ratio}

    def __str__(self) -> str:
        if self.speed is None:
            return f"{self.game:<34} {self.engine:<8} failed: {self.why}"
        ready = f"{self.speed.compile_s:.2f} s"
        return (
            f"{self.game:<34} {self.speed.engine:<8} {self.states_per_s:>14,.0f} {self.ratio:>10,.3f} "
            f"{self.speed.playouts_per_s:>12,.1f} {ready:>9}"
        )


TABLE = f"{'game':<34} {'engine':<8} {'states/s':>14} {'ratio':>10} {'playouts/s':>12} {'ready':>9}"


@dataclass(frozen=True)
class Medians:
    """Over all games of a series; one that failed counts as 0."""

    engine: str
    games: int
    failed: int
    states_per_s: float
    ratio: float

    @classmethod
    def of(cls, engine: str, found: Sequence[Benchmark]) -> Medians:
        states = median(one.states_per_s for one in found)
        return cls(engine, len(found), sum(not one.speed for one in found), states, median(one.ratio for one in found))

    def __str__(self) -> str:
        return (
            f"median of {self.games} games with {self.engine}: {self.states_per_s:,.0f} states/s, "
            f"ratio {self.ratio:,.3f}, {self.failed} failed"
        )


def benchmark(
    path: str | Path,
    engine: str,
    *,
    seconds: float,
    rng: np.random.Generator,
    time_limit: float = DEFAULT_TIME_LIMIT,
    memory_limit: int = DEFAULT_MEMORY_LIMIT,
) -> Benchmark:
    """Measures one game; what is wrong with it is part of the answer, so that a series goes on."""
    name = Path(path).name.removesuffix(".kif")
    kernel = kernel_speed()
    try:
        found = speed(load(path), engine, seconds=seconds, rng=rng, time_limit=time_limit, memory_limit=memory_limit)
    except GGPError as error:
        return Benchmark(name, engine, kernel, why=" ".join(str(error).split()))
    return Benchmark(name, engine, max(kernel, kernel_speed()), found)


def kernel_speed(*, windows: int = 5, passes: int = 1000, clock: Clock = time.perf_counter) -> float:
    """Passes a second of a fixed piece of work, a xorshift step of 4096 words with NumPy; the best of some windows."""
    words = np.arange(1, 4097, dtype=np.uint64)
    spare = np.empty_like(words)
    best = 0.0
    for _ in range(windows):
        since = clock()
        for _ in range(passes):
            for shift, amount in ((np.left_shift, 13), (np.right_shift, 7), (np.left_shift, 17)):
                np.bitwise_xor(words, shift(words, np.uint64(amount), out=spare), out=words)
        best = max(best, passes / max(clock() - since, 1e-9))
    return best
