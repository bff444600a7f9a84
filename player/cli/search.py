"""`ggp search`: what an algorithm thinks of a position."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import click

from player.cli.options import (
    Kind,
    SecondsType,
    engine_option,
    game_argument,
    json_option,
    limit_options,
    played,
    print_json,
    printable,
    seed_option,
    start,
    waiting,
)

if TYPE_CHECKING:
    from ggp.game import Game, State
    from player.search.algorithms import Options
    from player.search.anytime import Answer
    from player.search.heuristics import Heuristic


class ListType(Kind):
    """Words or numbers with commas (or, as in PLAYER texts, plus signs) between them."""

    name = "list"

    def __init__(self, of: type) -> None:
        self.of = of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        try:
            return tuple(self.of(item) for item in str(value).replace("+", ",").split(","))
        except ValueError:
            self.fail(f"{value!r}, expected numbers with commas between them", param, ctx)


class BeliefType(Kind):
    """`.5,.5` for every role, or `p2=.2,.8` for one."""

    name = "belief"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        role, equals, shares = str(value).rpartition("=")
        return role if equals else "", ListType(float).convert(shares, param, ctx)


@click.command()
@game_argument
@click.option("--algorithm", default="maxn", show_default=True, help="One of the algorithms of the papers, or uct.")
@click.option("--role", help="Who searches. Default: the first role that has a choice.")
@click.option("--depth", type=click.IntRange(1), help="Plies of real choices. Default: to the end of the game.")
@click.option("--moves", help='Search after these joint moves: "((mark 1 1) noop) (noop (mark 2 2))".')
@click.option("--models", type=ListType(str), default="own", show_default=True, help="own, lead, spoil, team, given.")
@click.option("--belief", type=BeliefType(), multiple=True, help="Of each model: .5,.5, or for one role p2=.2,.8.")
@click.option("--epsilon", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="prob-maxn: errors.")
@click.option("--true", "true_utility", default="own", show_default=True, help="prob-maxn: what the searcher wants.")
@click.option("--win", default="goal", show_default=True, help="max-prob: who has won: goal or best.")
@click.option("--by", default="mean", show_default=True, help="soft-maxn decides by mean, worst or best.")
@click.option("--defend", type=float, default=20, show_default=True, help="mp-mix: paranoid with such a lead.")
@click.option("--attack", type=float, default=20, show_default=True, help="mp-mix: attack who has such a lead.")
@click.option("--heuristic", type=click.Choice(["playouts", "given"]), default="playouts", show_default=True)
@click.option("--playouts", type=click.IntRange(1), default=64, show_default=True, help="Per leaf, with --depth.")
@click.option("--pruning", help="maxn: none, shallow, speculative, deep; paranoid: alpha-beta. Searches depth first.")
@click.option("--order", type=click.Choice(["text", "history"]), default="text", help="Of moves, with --pruning.")
@click.option("--table/--no-table", default=True, help="Transpositions, with --pruning.")
@click.option("--max-nodes", type=click.IntRange(1), default=50_000_000, show_default=True)
@click.option("--seconds", type=SecondsType(), help="Deepen, or run UCT, for so long.")
@seed_option
@engine_option
@limit_options
@json_option
def search(
    game: Game,
    algorithm: str,
    role: str | None,
    depth: int | None,
    moves: str | None,
    models: tuple[str, ...],
    belief: tuple[tuple[str, Any], ...],
    epsilon: float,
    true_utility: str,
    win: str,
    by: str,
    defend: float,
    attack: float,
    heuristic: str,
    playouts: int,
    pruning: str | None,
    order: str,
    table: bool,
    max_nodes: int,
    seconds: float | None,
    seed: int,
    engine: str,
    time_limit: float,
    memory_limit: int,
    as_json: bool,
) -> None:
    """Search a position of GAME: the best move, and what every move is worth.

    \b
    ggp search tic_tac_toe
    ggp search nim --algorithm paranoid --moves "((take a 1) noop)"
    ggp search connect_four --algorithm prob-maxn --models own,lead --depth 4
    ggp search breakthrough --algorithm uct --seconds 2
    """
    from player.search.algorithms import ALGORITHMS, Options

    game = game.using(engine, time_limit=time_limit, memory_limit=memory_limit)
    names = (*ALGORITHMS, "uct")
    if algorithm not in names:
        raise click.UsageError(f"--algorithm {algorithm!r}: expected one of {', '.join(names)}")
    state = start(game, engine, time_limit, memory_limit)
    state = played(state, moves) if moves else state
    if state.is_terminal:
        raise click.UsageError("the game is over in this position: nothing to search")
    stuck = [name for name in game.roles if not state.legal(name)]
    if stuck:
        raise click.UsageError(f"the rules give {', '.join(stuck)} no move in this position")
    if role is not None and role not in game.roles:
        raise click.UsageError(f"--role {role!r}: expected one of {', '.join(game.roles)}")
    players = [game.roles[i] for i in game.players]
    if not players:
        raise click.UsageError(f"{game.name} has no role for a player")
    me = role or next((name for name in players if len(state.legal(name)) > 1), players[0])
    common = [shares for name, shares in belief if not name]
    if len(common) > 1:
        raise click.UsageError("--belief: given twice for every role")
    options = Options(
        models=models,
        belief=common[0] if common else (),
        beliefs={name: shares for name, shares in belief if name},
        epsilon=epsilon,
        true=true_utility,
        win=win,
        by=by,
        defend=defend,
        attack=attack,
    )
    budget = Budget(depth, seconds, time_limit, max_nodes, memory_limit)
    begun = time.perf_counter()
    with waiting(f"searching {game.name}"):
        try:
            if algorithm == "uct":
                found = _uct(game, state, me, seconds or 1.0, seed)
            elif pruning is not None:
                how = (pruning, order, table, heuristic, playouts)
                found = _depth_first(game, state, me, algorithm, *how, budget, seed)
            else:
                found = _folded(game, state, me, algorithm, options, heuristic, playouts, budget, seed)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    found |= {"seconds": time.perf_counter() - begun, "role": me, "algorithm": algorithm, "seed": seed}
    if as_json:
        print_json(found)
    else:
        _show(found)


@dataclass(frozen=True)
class Budget:
    """How far a search may go."""

    depth: int | None
    seconds: float | None  # to deepen for
    time_limit: float  # where it does not deepen
    nodes: int
    memory: int

    def exceeded(self) -> click.UsageError:
        end = f"depth {self.depth}" if self.depth else "the end of the game"
        limits = f"{self.time_limit:g} s, {self.nodes} nodes and the memory limit"
        return click.UsageError(f"{end} is not reached within {limits}: give a smaller --depth, or --seconds")


def _heuristic(game: Game, state: State, algorithm: str, heuristic: str) -> Heuristic | None:
    from player.search.heuristics import given

    if heuristic == "playouts":
        return None
    known = given(game, state.reasoner)
    if known is None:
        raise click.UsageError(f"--heuristic given: none is known for {game.name}")
    if algorithm == "max-prob" and not known.distinguishing:
        raise click.UsageError(f"--heuristic given: that of {game.name} does not tell winners at the end")
    return known


def _folded(
    game: Game,
    state: State,
    me: str,
    algorithm: str,
    options: Options,
    heuristic: str,
    playouts: int,
    budget: Budget,
    seed: int,
) -> dict[str, Any]:
    """The batched search: one ply after the other, folded at the end, or each time if there is a clock."""
    import numpy as np

    from ggp.match import Deadline
    from player.search.algorithms import rule
    from player.search.anytime import Leaves, answer, deepen
    from player.search.dag import Dag

    role = game.roles.index(me)
    reasoner = state.reasoner
    known = _heuristic(game, state, algorithm, heuristic)
    rng = np.random.default_rng(seed)
    leaves = Leaves(reasoner, role, rng, chance=game.chance, playouts=playouts, heuristic=known)
    dag = Dag(
        reasoner,
        state.row,
        chance=game.chance,
        max_nodes=budget.nodes,
        max_bytes=budget.memory,
        keep_states=options.asks_for_states,
    )
    chosen = rule(algorithm, game, role, options, lambda: leaves.outcomes(state.row).goals.mean((0, 1)))
    deadline = Deadline.after(budget.seconds or budget.time_limit)
    if budget.seconds is None:
        while (budget.depth is None or dag.depth < budget.depth) and dag.grow(deadline):
            pass
        if not dag.is_complete and dag.depth != budget.depth:
            raise budget.exceeded()
        return _described(game, state, answer(dag, chosen, leaves.of(chosen), deadline))
    found: Answer | None = None
    for better in deepen(dag, chosen, leaves, depth=budget.depth, deadline=deadline):
        found = better
    if found is None:
        raise click.UsageError(f"nothing was found within {budget.seconds:g} s")
    return _described(game, state, found)


def _described(game: Game, state: State, found: Answer) -> dict[str, Any]:
    tables = state.reasoner.moves
    me = found.rule.me
    return {
        "move": str(tables[me][found.move()]),
        "value": _value(game, found, found.value),
        **_outcomes(game, found, found.value),
        "moves": [
            {
                "move": str(tables[me][move]),
                "value": _value(game, found, value),
                "probability": float(probability),
                **_outcomes(game, found, value),
            }
            for move, value, probability in zip(found.moves.tolist(), found.values, found.odds, strict=True)
        ],
        "predictions": {
            game.roles[role]: [
                {"move": str(tables[role][move]), "probability": float(p)}
                for move, p in zip(moves.tolist(), odds, strict=True)
            ]
            for role, (moves, odds) in found.predictions.items()
            if role != me
        },
        "rule": type(found.rule).__name__,
        "nodes": found.nodes,
        "depth": found.depth,
        "complete": found.is_exact,
    }


def _value(game: Game, found: Answer, value: Any) -> dict[str, Any]:
    """As the design has it: role → number, or for prob-maxⁿ the matrix and the true utility."""
    from player.search.rules import Paranoid, ProbMaxN

    rule = found.rule
    if isinstance(rule, ProbMaxN):
        matrix = rule.matrix(value[None])[0]
        names = [utility.__name__ for utility in rule.utilities]
        shown = {game.roles[i]: dict(zip(names, matrix[i].tolist(), strict=True)) for i in game.players}
        return {"matrix": shown, "true": float(value[-1])}
    if isinstance(rule, Paranoid):
        return {game.roles[rule.me]: float(value[0])}
    numbers = rule.payoffs(value[None])[0]
    return {game.roles[i]: float(numbers[i]) for i in game.players}


def _outcomes(game: Game, found: Answer, value: Any) -> dict[str, Any]:
    """What soft-maxⁿ has besides: the outcomes of which the value is the mean."""
    from player.search.rules import SoftMaxN

    if not isinstance(found.rule, SoftMaxN):
        return {}
    rows = found.rule.outcomes[found.rule.sets(value[None])[0]]
    return {"outcomes": [{game.roles[i]: float(row[i]) for i in game.players} for row in rows]}


def _depth_first(
    game: Game,
    state: State,
    me: str,
    algorithm: str,
    pruning: str,
    order: str,
    table: bool,
    heuristic: str,
    playouts: int,
    budget: Budget,
    seed: int,
) -> dict[str, Any]:
    """The search that prunes, and counts what it visits."""
    import numpy as np

    from ggp.match import Deadline
    from player.search.heuristics import playout_means
    from player.search.maxsum import maxsum
    from player.search.pruning import DepthFirst
    from player.search.tree import GameTree, Stopped

    if algorithm not in ("maxn", "paranoid"):
        raise click.UsageError(f"--pruning: for maxn and paranoid, not for {algorithm}")
    if pruning == "alpha-beta" and algorithm == "maxn":
        raise click.UsageError("--pruning alpha-beta: for paranoid; maxn has none, shallow, speculative and deep")
    role = game.roles.index(me)
    rng = np.random.default_rng(seed)
    known = _heuristic(game, state, algorithm, heuristic)
    deadline = Deadline.after(budget.seconds or budget.time_limit)
    walker = DepthFirst(
        GameTree(state.reasoner, state.row, chance=game.chance),
        role,
        "maxn" if algorithm == "maxn" else "paranoid",
        pruning="speculative" if pruning == "alpha-beta" else pruning,
        order="history" if order == "history" else "text",
        table=table,
        maxsum=maxsum(game, deadline=deadline) if algorithm == "maxn" and pruning != "none" else None,
        leaf=known or (lambda rows: playout_means(state.reasoner, rows, playouts, rng)),
        max_nodes=budget.nodes,
        deadline=deadline,
    )
    if budget.seconds is not None:
        found = walker.deepen(budget.depth or inf)
        if found is None:
            raise click.UsageError(f"nothing was found within {budget.seconds:g} s")
    else:
        try:
            found = walker.search(budget.depth)
        except Stopped:
            raise budget.exceeded() from None
    everybody = {game.roles[i]: found.value[i] for i in game.players} if algorithm == "maxn" else {}
    value = everybody or {me: found.value[0]}
    move = str(state.reasoner.moves[role][found.move[role]])
    return {
        "move": move,
        "value": value,
        "moves": [{"move": move, "value": value, "probability": 1.0}],
        "nodes": found.visited,
        "expanded": found.expanded,
        "again": found.again,
        "hits": found.hits,
        "depth": None if found.depth == inf else found.depth,
        "complete": found.complete,
    }


def _uct(game: Game, state: State, me: str, seconds: float, seed: int) -> dict[str, Any]:
    import numpy as np

    from ggp.match import Deadline
    from player.search.uct import Tree

    role = game.roles.index(me)
    tree = Tree(state.reasoner, chance=game.chance, rng=np.random.default_rng(seed))
    tree.reset(state.row)
    tree.search(Deadline.after(seconds))
    table = state.reasoner.moves[role]
    choices = sorted(tree.statistics()[role], key=lambda choice: str(table[choice.move]))
    visits = sum(choice.visits for choice in choices) or 1
    value = tree.value()
    return {
        "move": str(table[tree.best(role)]),
        "value": {game.roles[i]: 100 * float(value[i]) for i in game.players},
        "moves": [
            {"move": str(table[c.move]), "value": {me: 100 * float(c.value)}, "probability": c.visits / visits}
            for c in choices
        ],
        "nodes": tree.nodes,
        "iterations": tree.iterations,
        "playouts": tree.playouts,
        "complete": tree.solved,
    }


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in (found["role"], "value", "probability"):
        table.add_column(Text(printable(title)), justify="left" if title == found["role"] else "right")
    for move in found["moves"]:
        cells = (move["move"], _short(move), f"{move['probability']:.3f}")
        table.add_row(*(Text(printable(cell)) for cell in cells))
    Console().print(table)
    for role, moves in found.get("predictions", {}).items():
        likely = sorted(moves, key=lambda move: -move["probability"])[:5]
        shown = ", ".join("{move} {probability:.2f}".format(**move) for move in likely)
        click.echo(printable(f"{role} probably: {shown}"))
    open_ended = f"depth {found['depth']}" if "depth" in found else f"{found['iterations']} descents"
    how = "solved" if found["complete"] else open_ended
    click.echo(printable(f"{found['role']} plays {found['move']}: {_short(found)}"))
    click.echo(f"{how}, {found['nodes']} nodes, {found['seconds']:.3f} s, seed {found['seed']}")


def _short(found: dict[str, Any]) -> str:
    """A value in a line."""
    value = found["value"]
    if "matrix" in value:
        rows = [f"{role} {_numbers(row)}" for role, row in value["matrix"].items()]
        return f"{'; '.join(rows)}; true {value['true']:.4g}"
    outcomes = found.get("outcomes", [])
    return f"{_numbers(value)} ({len(outcomes)} outcomes)" if len(outcomes) > 1 else _numbers(value)


def _numbers(value: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:.4g}" for name, number in value.items())
