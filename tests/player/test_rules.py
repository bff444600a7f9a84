"""Every algorithm against its worked examples, and against the definition written as plain recursion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.errors import TimeLimit
from ggp.match import Deadline
from player.search.anytime import Answer, Leaves, answer
from player.search.dag import Dag, Pruning
from player.search.intervals import win_probabilities
from player.search.rules import Expectation, MaxN, MaxProb, Offensive, Paranoid, ProbMaxN, SoftMaxN
from player.search.utilities import Outcomes, lead, own, spoil, team
from tests.player.trees import (
    CHALLENGES_1,
    MAX_PROB_1,
    PROB_MAXN_1,
    PROB_MAXN_3,
    Leaf,
    Node,
    Stage,
    Tree,
    TreeReasoner,
    gdl,
    names,
    players,
    random_tree,
)

Vector = np.ndarray[Any, np.dtype[np.float64]]


def solved(tree: Tree, rule: Expectation, *, chance: int | None = None, share: bool = True, **options: Any) -> Answer:
    roles = names(players(tree), chance=chance is not None)
    reasoner = TreeReasoner(tree, roles, share=share)
    dag = Dag(reasoner, reasoner.initial(), chance=chance, **options)
    while dag.grow():
        pass
    assert dag.is_complete
    return answer(dag, rule)


def trees(**options: Any) -> list[Tree]:
    rng = np.random.default_rng(7)
    return [
        random_tree(rng, number, int(rng.integers(3, 9)), 3, transpositions=bool(rng.integers(2)), **options)
        for number in (2, 3, 4, 5)
        for _ in range(8)
    ]


# The papers' examples


def test_maxn_breaks_ties_to_the_left() -> None:
    assert solved(PROB_MAXN_1, MaxN(0)).value.tolist() == [6, 4, 0]


def test_soft_maxn_keeps_both_outcomes_of_a_tie() -> None:
    rule = SoftMaxN(0)
    found = solved(PROB_MAXN_1, rule)
    sets = [{tuple(row) for row in rule.outcomes[inside].astype(int).tolist()} for inside in rule.sets(found.values)]
    assert sets == [{(6, 4, 0), (1, 4, 5)}, {(3, 4, 3)}, {(5, 4, 1), (4, 4, 2)}]
    assert found.move() == 2  # the best mean; whoever needs 6 goes left
    assert solved(PROB_MAXN_1, SoftMaxN(0, by="best")).move() == 0
    assert solved(PROB_MAXN_1, SoftMaxN(0, by="worst")).move() == 2


def overtricks_hurt(outcomes: Outcomes) -> Vector:
    return np.where(outcomes.goals % 10 == 1, outcomes.goals - 2, outcomes.goals)


def test_prob_maxn_figures_3_to_6() -> None:
    rule = ProbMaxN(0, [own, overtricks_hurt], roles=3, epsilon=0.3)
    found = solved(PROB_MAXN_3, rule)
    assert found.odds.tolist() == pytest.approx([0.275, 0.45, 0.275])
    assert rule.matrix(found.value[None])[0].tolist() == [
        pytest.approx([30.55, 29.45]),
        pytest.approx([-4.5, -4.5]),
        pytest.approx([-2, -2]),
    ]


def test_max_prob_figure_1() -> None:
    tree = scaled(MAX_PROB_1, 100)
    found = solved(tree, MaxProb(0))
    assert found.values.tolist() == [pytest.approx([0.5, 0, 0.5]), pytest.approx([2 / 3, 0, 2 / 3])]
    assert found.decision.tolist() == [0, 1]
    assert solved(tree, MaxProb(0, win="best")).values.tolist() == found.values.tolist()


def test_paranoid_and_maxn_do_worse_than_max_prob_there() -> None:
    """A uniform tie-break: paranoid 7/12, maxⁿ 43/72, about 0.6."""
    tree = scaled(MAX_PROB_1, 100)
    worth = solved(tree, MaxProb(0)).values[:, 0]
    paranoid = solved(tree, Paranoid(0))
    assert paranoid.values[:, 0].tolist() == [0, 0]
    assert worth.mean() == pytest.approx(7 / 12)
    assert isinstance(tree, Node)
    expected = []
    left, right = tree.children
    assert isinstance(left, Node)
    assert isinstance(right, Node)
    for a in left.children:
        for b in right.children:
            found = solved(Node(0, (a, b)), MaxProb(0))
            expected.append(found.odds @ worth)
    assert np.mean(expected) == pytest.approx(43 / 72)


def test_max_prob_figure_2() -> None:
    assert win_probabilities([[4, 3, 0]], [[6, 5, 3]])[0, 0] == pytest.approx(0.875)


def test_challenges_figure_1() -> None:
    found = solved(CHALLENGES_1, MaxN(0))
    assert found.values[0].tolist() == [1, 3, 5]
    assert found.value[0] == 6
    assert found.move() == 2


def scaled(tree: Tree, by: int) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf(tuple(by * payoff for payoff in tree.payoffs))
    children = tuple(scaled(child, by) for child in tree.children)
    return Node(tree.mover, children) if isinstance(tree, Node) else Stage(tree.widths, children)


# The definitions, as plain recursion


def maxn(tree: Tree) -> Vector:
    if isinstance(tree, Leaf):
        return np.array(tree.payoffs, float)
    assert isinstance(tree, Node)
    values = [maxn(child) for child in tree.children]
    return max(values, key=lambda value: value[tree.mover])


def paranoid(tree: Tree, me: int = 0) -> float:
    if isinstance(tree, Leaf):
        return tree.payoffs[me]
    assert isinstance(tree, Node)
    values = [paranoid(child, me) for child in tree.children]
    return max(values) if tree.mover == me else min(values)


def max_prob(tree: Tree) -> Vector:
    if isinstance(tree, Leaf):
        return np.array(tree.payoffs) / 100
    assert isinstance(tree, Node)
    values = [max_prob(child) for child in tree.children]
    best = max(value[tree.mover] for value in values)
    return np.asarray(np.mean([value for value in values if value[tree.mover] > best - 1e-9], axis=0))


def prob_maxn(tree: Tree, belief: Vector, epsilon: float, me: int = 0) -> tuple[Vector, float]:
    """The matrix, and the true utility `own`."""
    if isinstance(tree, Leaf):
        outcome = Outcomes(np.array([[tree.payoffs]], float), me)
        return np.stack([utility(outcome)[0, 0] for utility in (own, lead)], axis=1), tree.payoffs[me]
    assert isinstance(tree, Node)
    children = [prob_maxn(child, belief, epsilon, me) for child in tree.children]
    odds = np.zeros(len(children))
    for model, probability in enumerate(belief[tree.mover]):
        wanted = np.array([matrix[tree.mover, model] for matrix, _ in children])
        best = wanted > wanted.max() - 1e-9
        odds += probability * ((1 - epsilon) * best / best.sum() + epsilon / len(children))
    matrix = sum(p * matrix for p, (matrix, _) in zip(odds, children, strict=True))
    truth = [true for _, true in children]
    return np.asarray(matrix), max(truth) if tree.mover == me else float(odds @ truth)


def soft_maxn(tree: Tree, utilities: Sequence[Callable[[Outcomes], Vector]]) -> frozenset[tuple[int, ...]]:
    if isinstance(tree, Leaf):
        return frozenset({tree.payoffs})
    assert isinstance(tree, Node)
    sets = [soft_maxn(child, utilities) for child in tree.children]

    def worth(outcome: tuple[int, ...]) -> list[float]:
        return [float(u(Outcomes(np.array([[outcome]], float), 0))[0, 0, tree.mover]) for u in utilities]

    def better(a: frozenset[tuple[int, ...]], b: frozenset[tuple[int, ...]]) -> bool:
        return all(x > y for one in a for two in b for x, y in zip(worth(one), worth(two), strict=True))

    return frozenset().union(*(one for one in sets if not any(better(other, one) for other in sets)))


def test_maxn_is_its_definition() -> None:
    for tree in trees(values=(0, 6)):
        assert solved(tree, MaxN(0)).value.tolist() == maxn(tree).tolist()


def test_paranoid_is_its_definition() -> None:
    for tree in trees():
        assert solved(tree, Paranoid(1)).value[0] == paranoid(tree, 1)


def test_max_prob_is_its_definition() -> None:
    for tree in trees(values=(0, 3)):
        np.testing.assert_allclose(solved(tree, MaxProb(0)).value, max_prob(tree), rtol=0, atol=1e-9)


def test_prob_maxn_is_its_definition() -> None:
    rng = np.random.default_rng(3)
    for tree in trees(values=(0, 5)):
        belief = rng.dirichlet([1, 1], players(tree))
        rule = ProbMaxN(0, [own, lead], belief, roles=players(tree), epsilon=0.2)
        found = solved(tree, rule)
        matrix, true = prob_maxn(tree, belief, 0.2)
        np.testing.assert_allclose(rule.matrix(found.value[None])[0], matrix, rtol=0, atol=1e-9)
        assert found.value[-1] == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize("utilities", [(own,), (own, lead)])
def test_soft_maxn_is_its_definition(utilities: tuple[Callable[[Outcomes], Vector], ...]) -> None:
    for tree in trees(values=(0, 5)):
        rule = SoftMaxN(0, utilities)
        found = solved(tree, rule)
        outcomes = rule.outcomes[rule.sets(found.value[None])[0]].astype(int).tolist()
        assert {tuple(row) for row in outcomes} == soft_maxn(tree, utilities)


def test_two_zero_sum_players_make_paranoid_and_maxn_equal() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        tree = random_tree(rng, 2, 6, 3, constant_sum=100)
        assert solved(tree, Paranoid(0)).value[0] == solved(tree, MaxN(0)).value[0]


# Laws


def rules(roles: int) -> list[Expectation]:
    return [
        MaxN(0),
        Paranoid(0),
        MaxProb(0),
        ProbMaxN(0, [own, lead], roles=roles),
        SoftMaxN(0),
        Offensive(0, 1),
    ]


@pytest.mark.parametrize("index", range(6))
def test_one_child_backs_up_unchanged(index: int) -> None:
    below = Node(1, (Leaf((10, 20, 30)), Leaf((30, 20, 10))))
    assert (
        solved(Node(0, (Node(2, (below,)),)), rules(3)[index]).value.tolist()
        == solved(below, rules(3)[index]).value.tolist()
    )


@pytest.mark.parametrize("index", range(6))
def test_the_order_of_children_never_changes_the_worth_without_ties(index: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        tree = random_tree(rng, 3, 4, 3, values=(0, 10_000), distinct=True)
        one, two = rules(3)[index], rules(3)[index]
        a, b = solved(tree, one), solved(reversed_children(tree), two)
        assert one.worth(a.value[None])[0] == pytest.approx(two.worth(b.value[None])[0])


def reversed_children(tree: Tree) -> Tree:
    if isinstance(tree, Leaf):
        return tree
    assert isinstance(tree, Node)
    return Node(tree.mover, tuple(reversed_children(child) for child in tree.children[::-1]))


def test_sharing_equal_positions_changes_nothing_but_the_size() -> None:
    tree = random_tree(np.random.default_rng(2), 3, 7, 3, transpositions=True)
    for one, two in zip(rules(3), rules(3), strict=True):
        shared, whole = solved(tree, one), solved(tree, two, share=False)
        assert shared.value.tolist() == whole.value.tolist()
        assert shared.nodes < whole.nodes


def test_chance_is_an_average() -> None:
    tree = Node(2, (Leaf((0, 100, 0)), Leaf((100, 0, 0)), Leaf((50, 50, 0)), Leaf((50, 0, 0))))
    assert solved(tree, MaxN(0), chance=2).value.tolist() == [50, 37.5, 0]
    assert solved(tree, Paranoid(0), chance=2).value.tolist() == [50]
    assert solved(tree, MaxProb(0), chance=2).value.tolist() == [0.5, 0.375, 0]
    rule = ProbMaxN(0, [own, lead], roles=3, chance=2)
    assert solved(tree, rule, chance=2).value[-1] == 50
    rule_ = SoftMaxN(0)
    assert rule_.sets(solved(tree, rule_, chance=2).value[None]).sum() == 4


def test_maxn_with_chance_is_its_definition() -> None:
    rng = np.random.default_rng(9)

    def expected(tree: Tree) -> Vector:
        if isinstance(tree, Leaf):
            return np.array(tree.payoffs, float)
        assert isinstance(tree, Node)
        values = [expected(child) for child in tree.children]
        if tree.mover == 2:
            return np.asarray(np.mean(values, axis=0))
        best = max(value[tree.mover] for value in values)
        return next(value for value in values if value[tree.mover] > best - 1e-9)

    for _ in range(20):
        tree = random_tree(rng, 3, 5, 3, chance=True)
        np.testing.assert_allclose(solved(tree, MaxN(0), chance=2).value, expected(tree), atol=1e-9)


# At the same time


ROCK_PAPER_SCISSORS = Stage(
    (3, 3),
    tuple(Leaf(p) for p in [(50, 50), (0, 100), (100, 0), (100, 0), (50, 50), (0, 100), (0, 100), (100, 0), (50, 50)]),
)


def test_regret_matching_finds_the_equilibrium() -> None:
    found = solved(ROCK_PAPER_SCISSORS, MaxN(0))
    assert found.odds.tolist() == pytest.approx([1 / 3] * 3, abs=0.02)
    assert found.value.tolist() == pytest.approx([50, 50], abs=1)
    tilted = Stage((2, 2), (Leaf((60, 40)), Leaf((20, 80)), Leaf((0, 100)), Leaf((40, 60))))
    found = solved(tilted, MaxN(0))
    assert found.odds.tolist() == pytest.approx([0.5, 0.5], abs=0.02)
    assert found.value[0] == pytest.approx(30, abs=0.5)
    assert found.predictions[1][1].tolist() == pytest.approx([0.25, 0.75], abs=0.02)


def test_paranoid_lets_the_others_answer() -> None:
    found = solved(ROCK_PAPER_SCISSORS, Paranoid(0))
    assert found.value.tolist() == [0]
    better = Stage((2, 1, 2), (Leaf((10, 0, 0)), Leaf((90, 0, 0)), Leaf((30, 0, 0)), Leaf((40, 0, 0))))
    found = solved(better, Paranoid(0))
    assert found.values[:, 0].tolist() == [10, 30]
    assert found.move() == 1


def test_paranoid_averages_over_who_does_not_see_the_move() -> None:
    """p1 against p2, who answers, and dice, which do not: the worst answer of each move, on average of the dice."""
    goals = [[[10, 90], [40, 40]], [[0, 60], [50, 50]]]  # p1's move, p2's, the dice
    stage = Stage((2, 2, 2), tuple(Leaf((goal, 0, 0)) for mine in goals for yours in mine for goal in yours))
    found = solved(stage, Paranoid(0), chance=2)
    assert found.values[:, 0].tolist() == [40, 30]
    assert found.value.tolist() == [40]


def test_every_rule_takes_simultaneous_moves() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        tree = random_tree(rng, 3, 4, 2, simultaneous=0.5)
        for rule in rules(3):
            found = solved(tree, rule)
            assert found.decision.sum() == pytest.approx(1)


def test_the_searcher_maximises_against_the_odds_of_a_model() -> None:
    class Rock:
        def odds(self, states: Any, role: int, legal: Any) -> Any:
            return np.eye(legal.shape[1])[[0] * len(states)]

    found = solved(ROCK_PAPER_SCISSORS, MaxN(0), models={1: Rock()})
    assert found.move() == 1
    rule = ProbMaxN(0, [own], [[1, 0], [0, 1]], roles=2)
    assert solved(ROCK_PAPER_SCISSORS, rule, models={1: Rock()}).value[-1] == pytest.approx(100)


# Models of opponents


class Likes:
    """Moves with these odds, whatever the state."""

    def __init__(self, *odds: float) -> None:
        self.given = odds

    def odds(self, states: Any, role: int, legal: Any) -> Any:
        found = np.zeros(legal.shape)
        found[:, : len(self.given)] = self.given
        found *= legal
        return found / found.sum(axis=1, keepdims=True)


def test_a_model_is_one_of_the_mini_players() -> None:
    tree = Node(1, (Leaf((0, 100)), Leaf((100, 0))))
    belief = [[1.0, 0.0], [0.6, 0.4]]
    rule = ProbMaxN(0, [own], belief, roles=2, epsilon=0.1)
    found = solved(tree, rule, models={1: Likes(0.2, 0.8)})
    assert found.predictions[1][1].tolist() == pytest.approx([0.6 * 0.95 + 0.4 * 0.2, 0.6 * 0.05 + 0.4 * 0.8])


def test_pruning_keeps_the_likeliest() -> None:
    tree = Node(1, (Leaf((0, 100)), Leaf((100, 0)), Leaf((50, 50))))
    model = {1: Likes(0.1, 0.6, 0.3)}
    assert solved(tree, MaxN(0), models=model).value.tolist() == pytest.approx([75, 25])
    one = solved(tree, MaxN(0), models=model, pruning=Pruning(count=1))
    assert (one.value.tolist(), one.nodes) == ([100, 0], 2)
    some = solved(tree, MaxN(0), models=model, pruning=Pruning(mass=0.85))
    assert some.value.tolist() == pytest.approx([(60 * 100 + 30 * 50) / 90, 30 * 50 / 90])


# Real games


@pytest.mark.parametrize("engine", ["propnet", "prolog"])
def test_both_engines_solve_the_same_tree(engine: str) -> None:
    tree = random_tree(np.random.default_rng(11), 3, 4, 3, simultaneous=0.2)
    game = ggp.Game.parse(gdl(tree))
    reasoner = game.reasoner(engine)
    for rule, other in zip(rules(3), rules(3), strict=True):
        dag = Dag(reasoner, reasoner.initial())
        while dag.grow():
            pass
        found, expected = answer(dag, rule), solved(tree, other)
        assert found.value.tolist() == expected.value.tolist()
        assert [str(reasoner.moves[0][move]) for move in found.moves] == [
            str(TreeReasoner(tree).moves[0][move]) for move in expected.moves
        ]


def test_tic_tac_toe_is_a_draw() -> None:
    reasoner = ggp.load("tic_tac_toe").reasoner("propnet")
    dag = Dag(reasoner, reasoner.initial())
    while dag.grow():
        pass
    assert dag.nodes == 5400  # 5478 positions less those in which the last mark is forced
    for rule in (MaxN(0), Paranoid(0)):
        assert answer(dag, rule).value[0] == 50
    assert answer(dag, MaxProb(0)).value.tolist() == pytest.approx([0.5, 0.5])


def test_leaves_are_valued_by_playouts_where_the_depth_ends() -> None:
    reasoner = ggp.load("connect_four").reasoner("propnet")
    dag = Dag(reasoner, reasoner.initial())
    dag.grow()
    leaves = Leaves(reasoner, 0, np.random.default_rng(0), playouts=500)
    for rule, scale in ((MaxN(0), 1), (MaxProb(0), 0.01)):
        found = answer(dag, rule, leaves.of(rule))
        assert found.values[:, 0] / scale == pytest.approx(55, abs=15)
        assert found.move() == 3  # the middle
    soft = SoftMaxN(0)
    assert answer(dag, soft, leaves.of(soft)).value.any()


def test_spoil_and_team() -> None:
    outcome = Outcomes(np.array([[[10.0, 20.0, 0.0]]]), me=1, chance=2)
    assert spoil(outcome).tolist() == [[[-20, -20, -20]]]
    assert team(outcome).tolist() == [[[30, 30, 30]]]
    assert lead(Outcomes(np.array([[[10.0, 0.0]]]), me=0, chance=1)).tolist() == [[[10, 0]]]


def test_who_chooses_beside_chance_chooses_alone() -> None:
    """No mixture: the best move, and of several the first."""
    coin = Stage((3, 1, 2), tuple(Leaf((goal, 0, 0)) for goal in (0, 0, 100, 100, 100, 100)))
    found = solved(coin, MaxN(0), chance=2)
    assert found.value.tolist() == [100, 0, 0]
    assert found.odds.tolist() == [0, 1, 0]
    assert solved(coin, MaxProb(0), chance=2).odds.tolist() == [0, 0.5, 0.5]


def test_max_prob_alone_wants_its_goal() -> None:
    reasoner = ggp.load("eight_puzzle").reasoner()
    dag = Dag(reasoner, reasoner.initial())
    dag.grow()
    rule = MaxProb(0)
    assert answer(dag, rule, Leaves(reasoner, 0, np.random.default_rng(0)).of(rule)).value[0] < 0.5


def test_a_very_long_forced_line_is_followed_to_its_end() -> None:
    numbers = " ".join(f"(next_to {i} {i + 1})" for i in range(1300))
    text = (
        "(role p) (init (at 0)) (legal p go) (<= (next (at ?y)) (true (at ?x)) (next_to ?x ?y)) "
        "(<= end (true (at 1300))) "
        f"(<= terminal end) (<= (goal p 100) end) (<= (goal p 0) (not end)) {numbers}"
    )
    reasoner = ggp.Game.parse(text).reasoner()
    dag = Dag(reasoner, reasoner.initial())
    while dag.grow():
        pass
    assert dag.is_complete
    assert answer(dag, MaxN(0)).value.tolist() == [100]


def test_a_model_that_knows_nothing_does_not_prune_everything() -> None:
    class Nothing:
        def odds(self, states: Any, role: int, legal: Any) -> Any:
            return np.zeros(legal.shape)

    tree = Node(1, (Leaf((0, 100)), Leaf((100, 0))))
    found = solved(tree, MaxN(0), models={1: Nothing()}, pruning=Pruning(count=1))
    assert found.value.tolist() == [0, 100]


def test_a_fold_in_pieces_is_the_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = random_tree(np.random.default_rng(8), 3, 6, 3)
    whole = [solved(tree, rule).value.tolist() for rule in rules(3)]
    monkeypatch.setattr("player.search.dag.EDGES", 16)
    assert [solved(tree, rule).value.tolist() for rule in rules(3)] == whole


def test_a_fold_that_takes_too_long_ends() -> None:
    reasoner = ggp.load("tic_tac_toe").reasoner()
    dag = Dag(reasoner, reasoner.initial())
    while dag.grow():
        pass
    with pytest.raises(TimeLimit, match="not backed up in time"):
        answer(dag, MaxN(0), deadline=Deadline(-1.0, lambda: 0.0))
