"""Many matches, the same for the same seeds however many processes play them."""

from __future__ import annotations

import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

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
    size = max(1, min(32, games // (4 * jobs)))
    every = seeds(seed, games)
    tasks = (Task(setting, every[i : i + size]) for i in range(0, games, size))
    return play_all(tasks, jobs=jobs, game=game)


@dataclass(frozen=True)
class Task:
    """Matches that differ only in their seeds; what a worker is given at once."""

    setting: Setting
    seeds: Sequence[int]


def play_all(tasks: Iterable[Task], *, jobs: int = 1, game: Game | None = None) -> Iterator[Match]:
    """The matches of the tasks in order, each as soon as it and those before it are there.

    Tasks are taken as they are needed. A process keeps the engine of one game only, so tasks of one game belong
    together; `game` is one whose engine may run already. What a worker did that died is tried once more.
    """
    return _play_here(tasks, game) if jobs == 1 else _share_out(iter(tasks), jobs)


def _play_here(tasks: Iterable[Task], game: Game | None = None) -> Iterator[Match]:
    for task in tasks:
        game = _ready(task.setting, game)
        yield from (task.setting.play(game, seed) for seed in task.seeds)


def _ready(setting: Setting, game: Game | None) -> Game:
    """The game of the setting, which may be the one that was played last."""
    if game is None or (game.name, game.rulesheet.source.text) != (setting.name, setting.rules):
        game = Game.parse(setting.rules, setting.name)
    return setting.ready(game)


def _share_out(tasks: Iterator[Task], jobs: int) -> Iterator[Match]:
    ahead = deque(_Job(task) for task in islice(tasks, 4 * jobs))  # not yet yielded, in order
    waiting = deque(ahead)
    workers: list[_Worker] = []
    try:
        workers.extend(_Worker() for _ in range(min(jobs, len(ahead))))
        while ahead:
            for worker in workers:
                if worker.job is None and waiting:
                    worker.give(waiting.popleft())
            for connection in wait([worker.connection for worker in workers if worker.job]):
                worker = next(worker for worker in workers if worker.connection is connection)
                job = worker.take()
                if job.played is None:  # it died
                    workers.remove(worker)
                    workers.append(_Worker())
                    waiting.appendleft(job)
            while ahead and ahead[0].played is not None:
                yield from ahead.popleft().played or ()
                more = [_Job(task) for task in islice(tasks, 1)]
                ahead += more
                waiting += more
    except BaseException:  # ctrl-C, or a match that failed: nobody waits for the rest
        for worker in workers:
            worker.process.kill()
        raise
    finally:
        for worker in workers:
            worker.connection.close()
            worker.process.join()


@dataclass(eq=False)
class _Job:
    task: Task
    played: list[Match] | None = None
    deaths: int = 0


class _Worker:
    """A process that plays one task at a time."""

    def __init__(self) -> None:
        context = get_context("spawn")  # a forked Prolog does not work
        self.connection, theirs = context.Pipe()
        self.job: _Job | None = None
        self.process = context.Process(target=_work, args=(theirs,))
        self.process.start()
        theirs.close()

    def give(self, job: _Job) -> None:
        self.job = job
        with suppress(OSError):  # it died: `take` finds out
            self.connection.send(job.task)

    def take(self) -> _Job:
        """The job with its matches, or without them if the worker died; raises what the worker raised."""
        assert self.job is not None
        job, self.job = self.job, None
        try:
            answer: list[Match] | Exception = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            job.deaths += 1
            if job.deaths > 1:
                raise ReasonerError(
                    f"a worker died, perhaps for lack of memory: twice in {job.task.setting.name}, "
                    f"{','.join(map(str, job.task.setting.players))}, exit code {self.process.exitcode}"
                ) from None
            return job
        if isinstance(answer, Exception):
            raise answer
        job.played = answer
        return job


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the parent, which ends us
    game = None
    with suppress(EOFError, ConnectionError):  # the parent wants no more
        while True:
            task: Task = connection.recv()
            answer: list[Match] | Exception
            try:
                game = _ready(task.setting, game)
                answer = [task.setting.play(game, seed) for seed in task.seeds]
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = error
            connection.send(answer)
