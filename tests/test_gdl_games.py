"""Every bundled game is documented, well-formed and playable, and those from papers are what they claim to be."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest

from ggp import bundle
from ggp.game import Game, State, load
from ggp.reasoner import Ints, Reasoner, States
from ggp.terms import Compound, Move
from ggp.validate import validate

GAMES = bundle.names()
PLAYOUTS = 20
README = (files("gdl_games") / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GAMES)
def test_the_header_says_where_it_comes_from_who_plays_and_how(name: str) -> None:
    header = re.match(r"(?:;.*\n)+", bundle.text(name))
    assert header, "expected a comment on top"
    for label in ("Source", "Roles", "Rules"):
        assert re.search(rf"^;; {label}: +\S", header[0], re.MULTILINE), f"expected a line ';; {label}: …'"


def test_the_readme_lists_the_games_and_how_many_play() -> None:
    listed = dict(re.findall(r"^\| (\w+) \| (\d.*?) \|", README, re.MULTILINE))
    assert list(listed) == list(GAMES)
    for name, players in listed.items():
        game = load(name)
        dice = game.chance is not None
        assert players == f"{len(game.roles) - dice}{' + random' * dice}", name


@pytest.mark.parametrize("name", GAMES)
def test_the_rules_have_neither_errors_nor_warnings(name: str) -> None:
    report = validate(load(name).rulesheet)
    assert [*report.errors, *report.warnings] == []


def renamed(game: Game, **names: str) -> State:
    """The first state of a game whose keywords have the rules of others: with `init="base"`, all base facts."""
    keywords = {old: new for new, old in names.items()}
    rules = tuple(
        replace(rule, head=Compound(keywords[rule.head.name], rule.head.args)) if rule.head.name in keywords else rule
        for rule in game.rules
        if rule.head.name not in names
    )
    return Game(replace(game.rulesheet, rules=rules), game.name).initial


@pytest.mark.parametrize("name", GAMES)
def test_random_games_end_with_a_goal_for_everyone_and_stay_within_base_and_input(name: str) -> None:
    game = load(name)
    reasoner = game.reasoner()
    everything = renamed(game, init="base", legal="input")
    base, inputs = everything.facts, [frozenset(everything.legal(role)) for role in game.roles]
    players = [i for i in range(len(game.roles)) if i != game.chance]
    rng = np.random.default_rng(1)
    states = reasoner.initial(PLAYOUTS)
    for _ in range(1000):
        for facts in reasoner.facts(states):
            assert facts <= base, facts - base
        over = reasoner.terminal(states)
        for i in players:
            assert {len(values) for values in reasoner.goal_values(states[over], i)} <= {1}, game.roles[i]
        states = states[~over]
        if not len(states):
            break
        states = reasoner.step(states, random_moves(reasoner, states, inputs, rng))
    else:
        pytest.fail("some game does not end")


def random_moves(reasoner: Reasoner, states: States, inputs: list[frozenset[Move]], rng: np.random.Generator) -> Ints:
    """(rows, roles), after all legal moves were looked at."""
    joint = np.zeros((len(states), len(reasoner.roles)), np.int64)
    for i, role in enumerate(reasoner.roles):
        legal = reasoner.legal(states, i)
        assert legal.any(axis=1).all(), f"{role} has no move"
        assert {reasoner.moves[i][int(m)] for m in np.flatnonzero(legal.any(axis=0))} <= inputs[i], role
        joint[:, i] = [rng.choice(np.flatnonzero(row)) for row in legal]
    return joint


# ---- games from papers and books are what they are there


def test_three_player_kuhn_poker_has_312_histories_and_chips_only_change_hands() -> None:
    """24 deals, 13 courses of betting; goal = 50 + 10 × chips, so that the goals add up to 150."""
    reasoner = load("kuhn_poker_3p").reasoner()
    states, ends = reasoner.initial(), Counter[tuple[int, ...]]()
    deals = []
    while len(states):
        children = reasoner.expand(states)
        deals.append(len(children.parents))
        ends.update(map(tuple, children.goals[children.terminal].tolist()))
        states = children.states[~children.terminal]
    assert deals[:2] == [24, 48]
    assert ends.total() == 312
    assert {sum(goals[:3]) for goals in ends} == {150}
    chips = Counter(sorted((goal - 50) // 10 for goal in goals[:3])[-1] for goals in ends.elements())
    assert chips == {2: 24 + 3 * 24, 3: 6 * 24, 4: 3 * 24}  # nobody calls, one calls, both call


def test_two_player_kuhn_poker_is_worth_a_loss_of_an_18th_to_the_first() -> None:
    """Kuhn's equilibrium (1950): p1 never bets first but calls with a queen in one case of three."""
    game = load("kuhn_poker")
    bets: dict[
        str, dict[str, Fraction | int]
    ] = {  # how often a player bets or calls, by what was done before and by card
        "": {"jack": 0, "queen": 0, "king": 0},
        "check": {"jack": Fraction(1, 3), "queen": 0, "king": 1},
        "bet": {"jack": 0, "queen": Fraction(1, 3), "king": 1},
        "check bet": {"jack": 0, "queen": Fraction(1, 3), "king": 1},
    }

    def worth(state: State, cards: list[str], done: str) -> Fraction:
        if state.is_terminal:
            return Fraction((state.goals["p1"] or 0) - 50, 25)
        mover = len(done.split()) % 2
        total = Fraction(0)
        for move in map(str, state.legal(game.roles[mover])):
            odds = Fraction(bets[done][cards[mover]])
            joint = ["noop"] * 3
            joint[mover] = move
            after = worth(state.play(*joint), cards, f"{done} {move}".strip())
            total += (odds if move in ("bet", "call") else 1 - odds) * after
        return total

    deals = game.initial.legal("random")
    values = [worth(game.initial.play("noop", "noop", deal), [*map(str, deal.args)], "") for deal in deals]
    assert sum(values) / len(deals) == Fraction(-1, 18)


def test_the_mummy_has_25_moves_in_its_turn_and_one_otherwise() -> None:
    reasoner = load("mummy_maze").reasoner()
    rng = np.random.default_rng(1)
    states = reasoner.initial(5)
    for step in range(10):
        states = states[~reasoner.terminal(states)]
        moves = [reasoner.legal(states, role) for role in range(2)]
        assert {*moves[1].sum(axis=1).tolist()} == {25 if step % 2 else 1}
        if step % 2:
            assert {*moves[0].sum(axis=1).tolist()} == {1}
        joint = [[rng.choice(np.flatnonzero(legal[row])) for legal in moves] for row in range(len(states))]
        states = reasoner.step(states, joint)


@pytest.mark.parametrize(("decision", "wins"), [("switch", Fraction(2, 3)), ("keep", Fraction(1, 3))])
def test_switching_doors_wins_two_cars_of_three(decision: str, wins: Fraction) -> None:
    def chance(state: State) -> Fraction:
        if state.is_terminal:
            return Fraction(state.goals["candidate"] or 0, 100)
        own = state.legal("candidate")
        mine = decision if decision in own else own[0]
        after = [chance(state.play(mine, move)) for move in state.legal("random")]
        return sum(after, Fraction(0)) / len(after)

    assert chance(load("monty_hall").initial) == wins
