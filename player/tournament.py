"""Tournaments: who plays whom on which seat, every match played once, also over several runs, and the standings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from ggp import records
from ggp.errors import RecordError
from ggp.game import Game
from ggp.match import FAULTS, Match
from ggp.reasoner import DEFAULT_MAX_STEPS, DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT
from learner.simulate import Factory, Setting, Task, play_all
from player.ratings import bradley_terry, wilson

T = TypeVar("T")


def round_robin(players: Sequence[T], seats: int) -> list[tuple[T, ...]]:
    """For every two players all seatings in which both occur; where there is one seat, everybody alone.

    >>> round_robin("AB", 3)
    [('A', 'A', 'B'), ('A', 'B', 'A'), ('A', 'B', 'B'), ('B', 'A', 'A'), ('B', 'A', 'B'), ('B', 'B', 'A')]
    """
    if seats == 1:
        return [(player,) for player in players]
    return [seating for two in combinations(players, 2) for seating in all_seatings(two, seats)]


def all_seatings(players: Sequence[T], seats: int) -> list[tuple[T, ...]]:
    """All seatings of different players; where there are more seats than players, all in which everybody occurs.

    >>> all_seatings("ABC", 2)
    [('A', 'B'), ('A', 'C'), ('B', 'A'), ('B', 'C'), ('C', 'A'), ('C', 'B')]
    """
    if len(players) >= seats:
        return list(permutations(players, seats))
    return [seating for seating in product(players, repeat=seats) if len(set(seating)) == len(players)]


SCHEDULES = {"round-robin": round_robin, "all-seatings": all_seatings}


@dataclass(frozen=True)
class Pairing:
    """A match of the schedule."""

    game: Game
    players: tuple[Factory, ...]  # on the seats of the game, in their order
    round: int
    seed: int


@dataclass(frozen=True)
class Tournament:
    """Some players in some games. Every round has all seatings of the schedule, with seeds of its own.

    The seed of a match follows from `seed`, the rules, the seating and the round, so that more rounds, games or players
    add matches and change none.
    """

    games: Sequence[Game]
    players: Sequence[Factory]
    rounds: int = 1
    schedule: str = "round-robin"
    seed: int = 1
    start_clock: float = 10.0
    play_clock: float = 5.0
    max_steps: int = DEFAULT_MAX_STEPS
    engine: str = "auto"
    time_limit: float = DEFAULT_TIME_LIMIT
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    most: int = 0  # matches of one game; 0: all of the schedule

    def __post_init__(self) -> None:
        if len(self.players) < 2:
            raise ValueError(f"players: {len(self.players)} given, expected two or more")
        for player, times in Counter(map(str, self.players)).items():
            if times > 1:
                raise ValueError(f"players: {player} {times} times, expected players that differ, if only in an option")
        for one, other in combinations(self.games, 2):
            if one.name == other.name or one.rule_hash == other.rule_hash:
                raise ValueError(f"games: {one.name} and {other.name} have the same name or the same rules")
        for game in self.games:
            if not game.players:
                raise ValueError(f"games: {game.name} has no role for a player")

    def __len__(self) -> int:
        """How many matches there are."""
        sizes = [self.rounds * len(self.seatings(game)) for game in self.games]
        return sum(min(size, self.most or size) for size in sizes)

    def seatings(self, game: Game) -> list[tuple[Factory, ...]]:
        return SCHEDULES[self.schedule](self.players, len(game.players))

    def pairings(self) -> Iterator[Pairing]:
        """All matches: game by game, round by round. Where there are too many, by lot, every group of players alike."""
        for game in self.games:
            seatings = self.seatings(game)
            found = [self.pairing(game, seating, number) for number in range(self.rounds) for seating in seatings]
            if self.most:
                turns: Counter[frozenset[str]] = Counter()
                order = []
                for pairing in sorted(found, key=lambda pairing: pairing.seed):
                    group = frozenset(map(str, pairing.players))
                    order.append((turns[group], pairing.seed, pairing))
                    turns[group] += 1
                found = [pairing for _, _, pairing in sorted(order, key=lambda item: item[:2])[: self.most]]
            yield from found

    def pairing(self, game: Game, players: tuple[Factory, ...], number: int) -> Pairing:
        key = "\n".join([str(self.seed), game.rule_hash, *map(str, players), str(number)])
        word = int.from_bytes(sha256(key.encode(errors="surrogateescape")).digest()[:8])
        return Pairing(game, players, number, word >> 11)  # below 2⁵³: every reader of JSON understands it

    def play(self, *, jobs: int = 1, out: str | Path | None = None) -> Generator[tuple[Pairing, Match], None, None]:
        """The matches, as they end; in the order of the schedule.

        With `out` they are added to that file of records. Those that it has already come first, without states and
        moves, and are not played again; a last line that was not finished is. Whatever ends this leaves whole lines.
        """
        if out is None:
            yield from self._play(list(self.pairings()), jobs)
            return
        pairings = {pairing.seed: pairing for pairing in self.pairings()}
        done = set()
        with Path(out).open("a+b") as file:
            for match in self._stored(file, str(out), pairings):
                assert match.seed is not None
                if match.seed not in done:
                    yield pairings[match.seed], match
                done.add(match.seed)
            good = file.tell()
            try:
                for pairing, match in self._play([p for seed, p in pairings.items() if seed not in done], jobs):
                    file.write(f"{records.dumps(match)}\n".encode())
                    file.flush()
                    good = file.tell()
                    yield pairing, match
            except BaseException:
                file.truncate(good)
                raise

    def _play(self, pairings: Sequence[Pairing], jobs: int) -> Iterator[tuple[Pairing, Match]]:
        tasks = (Task(self._setting(pairing), [pairing.seed]) for pairing in pairings)
        yield from zip(pairings, play_all(tasks, jobs=jobs), strict=True)

    def _setting(self, pairing: Pairing) -> Setting:
        return Setting(
            pairing.game.rulesheet.source.text,
            pairing.game.name,
            pairing.players,
            self.start_clock,
            self.play_clock,
            self.max_steps,
            self.engine,
            self.time_limit,
            self.memory_limit,
        )

    def _stored(self, file: BinaryIO, name: str, pairings: Mapping[int, Pairing]) -> Iterator[Match]:
        """The matches in the file, all of them of this tournament. Cuts off a line that was not finished."""
        file.seek(0)
        good = number = 0
        while (line := file.readline(records.MAX_LINE)).endswith(b"\n"):
            number += 1
            good = file.tell()
            if not line.strip():
                continue
            match, steps = _without_course(line.decode(errors="surrogateescape"), f"{name}:{number}")
            pairing = pairings.get(-1 if match.seed is None else match.seed)
            game = pairing.game if pairing else None
            if game is None or (match.rule_hash, match.roles) != (game.rule_hash, game.roles):
                raise RecordError(
                    f"{name}:{number}: {match.id} is not of this tournament: other games, players, schedule or seed, "
                    "or fewer rounds"
                )
            for what, found, wanted in (
                ("start clock", match.start_clock, self.start_clock),
                ("play clock", match.play_clock, self.play_clock),
            ):
                if found != wanted:
                    raise RecordError(f"{name}:{number}: {match.id}: {what} {found:g} s, expected {wanted:g} s")
            stuck = any(fault.kind == "stuck" for fault in match.errors)
            if steps > self.max_steps or (steps < self.max_steps and not match.completed and not stuck):
                raise RecordError(f"{name}:{number}: {match.id}: {steps} steps, expected up to {self.max_steps}")
            yield match
        if line and not (line.startswith(BEGINNING) or BEGINNING.startswith(line)):
            raise RecordError(f"{name}:{number + 1}: not a match record")
        if line:
            file.truncate(good)
            file.seek(good)


BEGINNING = b'{"id":'  # of a record


def _without_course(line: str, where: str) -> tuple[Match, int]:
    """A record without states and moves, of which there were so many: reading those takes longer than all the rest."""
    record = records.Checked(records.read_json(line, where), where)
    roles = record.texts("roles")
    goals = record.value("goals", dict)
    players = record.texts("players")
    steps = len(record.items("moves"))
    if sorted(goals) != sorted(roles) or len(players) != len(roles):
        record.fail("goals", f"expected one, and one player, for each of {', '.join(roles)}")
    match = Match(
        id=record.value("id", str),
        game=record.value("game", str),
        rule_hash=record.value("rule_hash", str),
        roles=roles,
        players=players,
        start_clock=record.clock("start_clock"),
        play_clock=record.clock("play_clock"),
        states=(),
        moves=(),
        errors=tuple(record.fault(item, i, roles, steps) for i, item in enumerate(record.items("errors"))),
        goals=tuple(record.goal(goals[role], f"goals.{role}") for role in roles),
        completed=record.value("completed", bool),
        seed=record.number("seed"),
    )
    return match, steps


class Standings:
    """The results of some players against each other; its size does not depend on the number of matches.

    The score of a match is 1, shared evenly by the seats with the highest goal; a player has what its seats have. Two
    players of a match are compared seat by seat, by their goals: equal ones are a draw if they are the highest, else
    they say nothing. For each two the comparisons of a match together are one result, and in the ratings all results
    of a match together weigh as much as one match.
    """

    def __init__(self, players: Iterable[str]) -> None:
        self.players = tuple(players)
        n = len(self.players)
        self.matches = np.zeros(n, np.int64)
        self.seats = np.zeros(n, np.int64)
        self.scores = np.zeros(n)
        self.goals = np.zeros(n)
        self.met = np.zeros((n, n), np.int64)  # matches that compare the two
        self.wins = np.zeros((n, n))  # of them, those in which the first was better
        self.weighted_wins = np.zeros((n, n))
        self.errors: list[Counter[str]] = [Counter() for _ in self.players]

    def add(self, players: Sequence[int], goals: Sequence[int]) -> None:
        """A match with these players, by index, on its seats."""
        goal = np.asarray(goals)
        sits = np.equal.outer(players, np.arange(len(self.players))).astype(np.int64)  # (seats, players)
        seats = sits.sum(axis=0)
        best = goal == goal.max()
        self.matches += seats > 0
        self.seats += seats
        self.scores += best @ sits / best.sum()
        self.goals += goal @ sits
        better = goal[:, None] > goal  # (seats, seats)
        drawn = np.outer(best, best)
        compared = sits.T @ (better | better.T | drawn) @ sits  # (players, players)
        np.fill_diagonal(compared, 0)
        wins = np.where(compared > 0, sits.T @ (better + drawn / 2) @ sits / np.maximum(compared, 1), 0.0)
        self.met += compared > 0
        self.wins += wins
        self.weighted_wins += wins / max(1, np.count_nonzero(compared) / 2)

    def summary(self) -> dict[str, Any]:
        """Players from the strongest to the weakest, and every two of them that met; JSON."""
        ratings = bradley_terry(self.weighted_wins)
        order = sorted(range(len(self.players)), key=lambda i: -ratings.elo[i])
        intervals = ratings.intervals
        return {
            "players": [
                {
                    "player": self.players[i],
                    "matches": int(self.matches[i]),
                    **_score(self.scores[i], int(self.matches[i])),
                    "goal": float(self.goals[i] / max(1, self.seats[i])),
                    "rating": float(ratings.elo[i]),
                    "rating_interval": intervals[i].tolist(),
                    "errors": {kind: self.errors[i][kind] for kind in FAULTS},
                }
                for i in order
            ],
            "pairs": [
                {
                    "players": [self.players[i], self.players[j]],
                    "matches": int(self.met[i, j]),
                    **_score(self.wins[i, j], int(self.met[i, j])),
                }
                for i, j in combinations(order, 2)
                if self.met[i, j]
            ],
        }


def _score(total: float, matches: int) -> dict[str, Any]:
    mean = float(total) / max(1, matches)
    return {"score": mean, "score_interval": list(wilson(mean, matches))}


class Results:
    """The standings of a tournament, overall and game by game.

    In games for one player those who played the same round are compared as if they had played against each other.
    """

    def __init__(self, tournament: Tournament) -> None:
        self.players = [str(player) for player in tournament.players]
        self.overall = Standings(self.players)
        self.games = {game.name: Standings(self.players) for game in tournament.games}
        self.matches = dict.fromkeys(self.games, 0)
        self.unfinished = 0
        self._alone: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)  # (game, round) → player → goal

    def add(self, pairing: Pairing, match: Match) -> None:
        game = pairing.game
        taken = game.players
        who = {game.roles[i]: self.players.index(str(p)) for i, p in zip(taken, pairing.players, strict=True)}
        goals = {role: match.scores[role] or 0 for role in who}
        self.matches[game.name] += 1
        self.unfinished += not match.completed
        both = (self.overall, self.games[game.name])
        for fault in match.errors:
            if fault.role in who:
                for standings in both:
                    standings.errors[who[fault.role]][fault.kind] += 1
        if len(taken) > 1:
            contest = list(zip(who.values(), goals.values(), strict=True))
        else:
            alone = self._alone[game.name, pairing.round]
            alone.update(zip(who.values(), goals.values(), strict=True))
            contest = list(alone.items()) if len(alone) == len(self.players) else []
        if contest:
            self._alone.pop((game.name, pairing.round), None)
            for standings in both:
                standings.add(*zip(*contest, strict=True))

    def summary(self) -> dict[str, Any]:
        """JSON."""
        return {
            **self.overall.summary(),
            "games": {
                name: standings.summary() | {"matches": self.matches[name]} for name, standings in self.games.items()
            },
            "matches": sum(self.matches.values()),
            "unfinished": self.unfinished,
        }
