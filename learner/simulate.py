"""Many matches of one game, the same for the same seed however many processes play them."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import active_children, get_context

import numpy as np

from ggp.errors import ReasonerError
from ggp.game import Game
from ggp.match import Match, Step, Strategy, play_match
from ggp.reasoner import DEFAULT_MAX_STEPS, DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT

Factory = Callable[[np.random.Generator], Strategy]  # importable, so that it can travel; str() is its PLAYER text


@dataclass(frozen=True)
class Setting:
    """All that a match depends on but its seed; travels to workers, which read the rules again."""

    rules: str
    name: str
    players: tuple[Factory, ...]
    start_clock: float
    play_clock: float
    max_steps: int = DEFAULT_MAX_STEPS
    engine: str = "auto"
    time_limit: float = DEFAULT_TIME_LIMIT
    memory_limit: int = DEFAULT_MEMORY_LIMIT

    def ready(self, game: Game) -> Game:
        """The game with the engine and the limits of the setting, for the judge and for the players."""
        return game.using(self.engine, time_limit=self.time_limit, memory_limit=self.memory_limit)

    def play(self, game: Game, seed: int, on_step: Callable[[Step], None] | None = None) -> Match:
        """The match with this seed: each player, and the judge, has a random stream of its own."""
        game = self.ready(game)
        judge, *streams = np.random.default_rng(seed).spawn(1 + len(self.players))
        return play_match(
            game,
            [factory(stream) for factory, stream in zip(self.players, streams, strict=True)],
            rng=judge,
            start_clock=self.start_clock,
            play_clock=self.play_clock,
            max_steps=self.max_steps,
            players=[str(factory) for factory in self.players],
            match_id=f"{game.name}.{seed}",
            seed=seed,
            on_step=on_step,
        )


def seeds(seed: int, n: int) -> list[int]:
    """`n` seeds for single matches; below 2⁵³, which every reader of JSON understands."""
    return [int(word) >> 11 for word in np.random.SeedSequence(seed).generate_state(n, np.uint64)]


def simulate(game: Game, setting: Setting, *, games: int, seed: int, jobs: int = 1) -> Iterator[Match]:
    """The matches in order, each as soon as it and those before it are there."""
    if jobs == 1:
        game = setting.ready(game)
        yield from (setting.play(game, s) for s in seeds(seed, games))
        return
    # Workers start afresh (spawn): a forked Prolog does not work.
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_prepare, initargs=(setting,))
    size = max(1, min(32, games // (4 * jobs)))
    every = seeds(seed, games)
    chunks = (every[i : i + size] for i in range(0, games, size))
    try:
        ahead = deque(pool.submit(_play, chunk) for chunk in islice(chunks, 4 * jobs))
        while ahead:
            yield from ahead.popleft().result()
            ahead.extend(pool.submit(_play, chunk) for chunk in islice(chunks, 1))
    except BrokenProcessPool as error:
        raise ReasonerError(f"a worker died, perhaps for lack of memory: {error}") from error
    except BaseException:  # ctrl-C, or a match that failed: nobody waits for the rest
        for worker in set(active_children()) - others:
            worker.kill()
        raise
    finally:
        pool.shutdown()


_worker: tuple[Game, Setting]


def _prepare(setting: Setting) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the parent, which ends us
    _worker = setting.ready(Game.parse(setting.rules, setting.name)), setting


def _play(chunk: list[int]) -> list[Match]:
    game, setting = _worker
    return [setting.play(game, seed) for seed in chunk]
