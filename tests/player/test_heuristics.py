"""Values of positions where a search stops: those given by games, and playouts."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from ggp.canonical import renamed_rule
from ggp.game import Game, load
from ggp.parser import parse_ground
from ggp.reasoner import Reasoner, States
from player.search.heuristics import Heuristic, given, playout_means, playout_outcomes
from player.search.heuristics.recipes import OTHERS, RECIPES, Recipe

COIN = """
(role a) (role random) (init toss) (<= (legal a wait) (true toss)) (<= (legal random heads) (true toss))
(<= (legal random tails) (true toss)) (<= (next (up ?x)) (does random ?x))
(<= terminal (true (up ?x))) (<= (goal a 100) (true (up heads))) (<= (goal a 0) (true (up tails)))
"""
ENDLESS = "(role a) (role b) (init p) (legal a x) (legal b x) (<= (next p) (true p)) (<= terminal (true q)) (goal a 30)"


def random_states(reasoner: Reasoner, n: int, seed: int = 0) -> tuple[States, States]:
    """The states of `n` random games: those on the way, and the final ones."""
    rng = np.random.default_rng(seed)
    rows, going, final = reasoner.initial(n), [], []
    while len(rows):
        over = reasoner.terminal(rows)
        final.append(rows[over])
        rows = rows[~over]
        going.append(rows)
        legal = [reasoner.legal(rows, role) for role in range(len(reasoner.roles))]
        joint = [(moves * rng.uniform(0.1, 1, moves.shape)).argmax(axis=1) for moves in legal]
        rows = reasoner.step(rows, np.stack(joint, axis=1))
    return np.concatenate(going), np.concatenate(final)


@cache
def sample(name: str) -> tuple[Game, Heuristic, States, States]:
    game = load(name)
    reasoner = game.reasoner("propnet")
    heuristic = given(game, reasoner)
    assert heuristic is not None
    return game, heuristic, *random_states(reasoner, 300)


def value(name: str, *facts: str) -> dict[str, float]:
    """The value of the state with these facts."""
    game, heuristic, _, _ = sample(name)
    row = heuristic.reasoner.encode([map(parse_ground, facts)])
    return dict(zip(game.roles, heuristic(row)[0].tolist(), strict=True))


@pytest.mark.parametrize("name", RECIPES)
def test_values_are_within_their_bounds_and_not_all_the_same(name: str) -> None:
    game, heuristic, going, final = sample(name)
    low, high = heuristic.bounds
    assert low.shape == high.shape == (len(game.roles),)
    for rows in (going, final):
        values = heuristic(rows)
        assert values.shape == (len(rows), len(game.roles))
        assert values.dtype == np.float64
        assert ((low <= values) & (values <= high)).all()
    players = list(game.players)
    assert (np.ptp(heuristic(going)[:, players], axis=0) > 10).all()


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.distinguishing])
def test_where_it_is_claimed_the_winners_and_only_they_have_the_highest_value_at_the_end(name: str) -> None:
    game, heuristic, _, final = sample(name)
    assert heuristic.distinguishing
    players = list(game.players)
    goals, values = heuristic.reasoner.goals(final)[:, players], heuristic(final)[:, players]
    best = [x == x.max(axis=1, keepdims=True) for x in (goals, values)]
    np.testing.assert_array_equal(*best)


@pytest.mark.parametrize("name", RECIPES)
def test_both_engines_give_the_same_values(name: str) -> None:
    game, compiled, going, final = sample(name)
    prolog = given(game, game.reasoner("prolog"))
    assert prolog is not None
    for rows in (going[:0], going[:: len(going) // 15], final[:10]):
        facts = compiled.reasoner.facts(rows)
        np.testing.assert_array_equal(prolog(prolog.reasoner.encode(facts)), compiled(rows))
    prolog.reasoner.close()


@pytest.mark.parametrize("name", RECIPES)
def test_a_game_under_other_names_has_the_same_heuristic(name: str) -> None:
    game, heuristic, going, _ = sample(name)
    structure = game.structure
    names = {symbol: f"x{number * 7 % 1009}" for number, symbol in enumerate(structure.symbols)}
    scrambled = Game.parse("\n".join(str(renamed_rule(rule, names)) for rule in game.rules))
    assert scrambled.rule_hash != game.rule_hash
    reasoner = scrambled.reasoner("propnet")
    found = given(scrambled, reasoner)
    assert found is not None
    rows = going[:: len(going) // 50]
    facts = [[parse_ground(str(_called(fact, names))) for fact in row] for row in heuristic.reasoner.facts(rows)]
    np.testing.assert_allclose(found(reasoner.encode(facts)), heuristic(rows), atol=1e-8)


def _called(fact: object, names: dict[str, str]) -> str:
    return " ".join(names.get(word, word) for word in str(fact).replace("(", "( ").replace(")", " )").split())


def test_games_without_a_heuristic_and_games_with_other_rules_have_none() -> None:
    assert given(load("nim")) is None
    rules = [rule for rule in load("breakthrough_5x5").rules if str(rule) != "(far white 5)"]
    assert given(Game.parse("\n".join([*map(str, rules), "(far white 4)"]))) is None


def test_the_heuristic_takes_states_of_the_engine_that_the_game_is_using() -> None:
    game = load("goofspiel").using("propnet")
    heuristic = given(game)
    assert heuristic is not None
    assert heuristic(game.initial.row).tolist() == [[50, 50]]


def test_weights_of_facts_and_of_pairs_add_up() -> None:
    game = Game.parse(
        "(role a) (role b) (role random) (init (p 1)) (init (p 2)) (init (q 2)) (legal a x) (legal b x)"
        "(legal random x) (<= (next (p ?x)) (true (p ?x))) (<= (next (q ?x)) (true (p ?x))) (<= terminal (true (p 3)))"
    )
    recipe = Recipe(
        base=1,
        facts={"p": lambda x: {"a": int(x), OTHERS: 0.5}},
        pairs={
            ("p", "q"): lambda x, y: {"b": 10 * int(x) * int(y)},
            ("p", "p"): lambda x, y: {"a": 20 if x < y else 0},
        },
        bounds=(0, 60),
    )
    heuristic = Heuristic(recipe, game, game.reasoner("propnet"))
    assert heuristic(game.initial.row).tolist() == [[24, 60, 0]]  # b: 1 + 2 · 0.5 + 10 · (1 · 2 + 2 · 2), cut


def test_chinese_checkers_counts_the_steps_to_the_camp() -> None:
    name = "chinese_checkers_3p"
    assert sample(name)[1](sample(name)[1].reasoner.initial()).tolist() == [[0, 0, 0]]
    assert value(name, "(at i3 red)", "(at h3 red)", "(at h4 red)")["red"] == 100
    assert value(name, "(at i3 red)", "(at g3 red)", "(at f7 red)")["red"] == pytest.approx(100 - 100 * (1 + 3) / 19)
    assert value(name, "(step 91)", "(at i3 red)", "(at g3 red)", "(at f7 red)")["red"] == pytest.approx(100 / 3)


def test_breakthrough_is_decided_by_the_far_row() -> None:
    assert value("breakthrough", "(cell 1 8 white)", *(f"(cell {x} 2 black)" for x in range(1, 9))) == {
        "white": 100,
        "black": 0,
    }
    ahead = value("breakthrough", "(cell 1 6 white)", "(cell 2 6 black)")
    assert ahead["white"] > 50 > ahead["black"] == 100 - ahead["white"]


def test_racetrack_counts_rows_and_the_ways_round_walls() -> None:
    even = ("(at white b 3)", "(at black b 3)")
    assert value("racetrack", *even) == {"white": 50, "black": 50}
    assert value("racetrack", *even, "(wall white b 2 3)") == {"white": 34, "black": 66}
    assert value("racetrack", *even, "(wall white c 2 3)") == {"white": 42, "black": 58}
    assert value("racetrack", *even, "(wall white c 1 2)") == {"white": 50, "black": 50}
    assert value("racetrack", "(at white d 3)", "(at black b 3)", "(wall white c 2 3)") == {"white": 66, "black": 34}
    assert value("racetrack", "(at white e 3)", "(at black d 3)") == {"white": 100, "black": 0}


def test_land_grab_counts_cells_and_free_neighbours() -> None:
    assert value("land_grab_4p", "(cell 1 1 red)") == {"red": 8, "green": 4, "blue": 4, "yellow": 4}
    assert value("land_grab_4p", "(cell 1 1 red)", "(cell 1 2 blue)") == {"red": 6, "green": 4, "blue": 8, "yellow": 4}


def test_the_mummy_is_in_the_way() -> None:
    assert value("mummy_maze", "(at explorer 3 8)", "(at mummy 8 1)") == {"explorer": 100, "mummy": 0}
    assert value("mummy_maze", "(at explorer 3 8)", "(at mummy 3 8)") == {"explorer": 0, "mummy": 100}
    near = value("mummy_maze", "(at explorer 4 2)", "(at mummy 4 3)")
    far = value("mummy_maze", "(at explorer 4 2)", "(at mummy 8 8)")
    assert near["explorer"] < far["explorer"]


def test_eight_puzzle_counts_the_distances_of_all_tiles() -> None:
    assert sample("eight_puzzle")[1](sample("eight_puzzle")[1].reasoner.initial()).tolist() == [[60]]
    solved = (f"(cell {i // 3 + 1} {i % 3 + 1} {i + 1 if i < 8 else 'b'})" for i in range(9))
    assert value("eight_puzzle", *solved) == {"player": 100}


def test_no_order_of_the_eight_puzzle_is_worth_less_than_its_bound() -> None:
    cell = RECIPES["eight_puzzle"].facts["cell"]
    points = np.zeros((9, 9))
    for place in range(9):
        for tile in range(8):
            points[place, tile] = cell(str(place // 3 + 1), str(place % 3 + 1), str(tile + 1))["player"]
    order = np.array(list(permutations(range(9))))
    assert (100 + points[np.arange(9), order].sum(axis=1)).min() >= 0


def test_pig_counts_the_points_of_the_turn_for_the_player_in_turn() -> None:
    found = value("pig_dice", "(safe red 6)", "(safe blue 10)", "(turn red 3)", "(total 12)")
    assert found == {"red": pytest.approx(50 + 50 * 2 / 21), "blue": pytest.approx(50 - 50 * 2 / 21), "random": 0}


def test_playouts_average_goals() -> None:
    reasoner = Game.parse(COIN).reasoner("propnet")
    rng = np.random.default_rng(0)
    outcomes = playout_outcomes(reasoner, reasoner.initial(2), 2000, rng)
    assert outcomes.shape == (2, 2000, 2)
    assert set(outcomes[..., 0].flat) == {0, 100}
    assert not outcomes[..., 1].any()  # chance has no goal
    np.testing.assert_allclose(playout_means(reasoner, reasoner.initial(2), 2000, rng), [[50, 0]] * 2, atol=5)


@pytest.mark.parametrize("engine", ["propnet", "prolog"])
def test_playouts_from_a_final_state_say_its_goals_and_endless_games_what_they_have_come_to(engine: str) -> None:
    rng = np.random.default_rng(0)
    coin, endless = Game.parse(COIN).reasoner(engine), Game.parse(ENDLESS).reasoner(engine)
    final = coin.encode([[parse_ground("(up heads)")]])
    assert playout_means(coin, final, 5, rng).tolist() == [[100, 0]]
    assert playout_means(endless, endless.initial(), 3, rng, max_steps=20).tolist() == [[30, 0]]
