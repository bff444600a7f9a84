"""The depth-first walker: whatever it leaves out, the root's value is that of a few lines of recursion."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf

import numpy as np
import pytest

import ggp
from ggp.match import Deadline
from ggp.reasoner import Floats, Reasoner, States
from player.search.maxsum import maxsum
from player.search.pruning import PRUNING, DepthFirst, Found
from player.search.tree import GameTree
from tests.player.trees import (
    CHALLENGES_1,
    CHALLENGES_2,
    PROB_MAXN_1,
    PROB_MAXN_3,
    Leaf,
    Node,
    Stage,
    Tree,
    TreeReasoner,
    gdl,
    names,
    random_tree,
)

EXACT = ("none", "immediate", "shallow", "speculative")
Value = tuple[float, ...]


def maxn(tree: Tree, left: float = inf, leaf: Callable[[Tree], Value] | None = None, chance: int = -1) -> Value:
    """The definition."""
    if isinstance(tree, Leaf):
        return tree.payoffs
    if left == 0:
        assert leaf is not None
        return leaf(tree)
    if len(tree.children) == 1:
        return maxn(tree.children[0], left, leaf, chance)
    assert isinstance(tree, Node)
    values = [maxn(child, left - 1, leaf, chance) for child in tree.children]
    return tuple(np.mean(values, axis=0)) if tree.mover == chance else max(values, key=lambda value: value[tree.mover])


def paranoid(tree: Tree, me: int, chance: int = -1) -> float:
    """The definition: my move first, then what is worst for me, then chance."""
    if isinstance(tree, Leaf):
        return tree.payoffs[me]
    values = [paranoid(child, me, chance) for child in tree.children]
    if isinstance(tree, Node):
        return float(max(values) if tree.mover == me else np.mean(values) if tree.mover == chance else min(values))
    plans: dict[int, dict[tuple[int, ...], list[float]]] = {}
    for joint, value in zip(product(*map(range, tree.widths)), values, strict=True):
        others = tuple(move for role, move in enumerate(joint) if role not in (me, chance))
        plans.setdefault(joint[me], {}).setdefault(others, []).append(value)
    return max(min(float(np.mean(values)) for values in answers.values()) for answers in plans.values())


def grown(tree: Tree, *, chance: bool = False) -> GameTree:
    roles = next(len(leaf.payoffs) for leaf in TreeReasoner(tree).nodes if isinstance(leaf, Leaf))
    reasoner = TreeReasoner(tree, names(roles, chance=chance))
    return GameTree(reasoner, reasoner.initial(), chance=roles - 1 if chance else None)


def drawn(rng: np.random.Generator, reasoner: Reasoner) -> Callable[[States, int], Floats]:
    """A ranker without any knowledge: all orders are as good as each other."""
    return lambda states, role: rng.random((len(states), len(reasoner.moves[role])))


def orders(tree: GameTree, rng: np.random.Generator) -> list[object]:
    return ["text", "history", drawn(rng, tree.reasoner)]


def chosen(tree: Tree, found: Found, reasoner: Reasoner) -> Tree:
    """The child that the root's move leads to."""
    assert isinstance(tree, Node)
    return tree.children["abcdefgh".index(str(reasoner.moves[tree.mover][found.move[tree.mover]]))]


# The worked examples


@pytest.mark.parametrize("pruning", EXACT)
def test_challenges_figure_1(pruning: str) -> None:
    assert maxn(CHALLENGES_1.children[0]) == (1, 3, 5)
    node = DepthFirst(grown(CHALLENGES_1.children[0]), pruning=pruning, maxsum=9).search()
    assert node.value == (1, 3, 5)
    found = DepthFirst(grown(CHALLENGES_1), pruning=pruning, maxsum=9).search()
    assert found.value == (6, 3, 0)
    assert found.complete
    assert chosen(CHALLENGES_1, found, TreeReasoner(CHALLENGES_1)) is CHALLENGES_1.children[2]


def test_challenges_figure_2_prunes_the_right_child_of_b() -> None:
    visited = {
        pruning: DepthFirst(grown(CHALLENGES_2), pruning=pruning, maxsum=10).search().visited for pruning in PRUNING
    }
    assert visited == {"none": 7, "immediate": 7, "shallow": 7, "speculative": 6, "deep": 6}


def test_what_was_pruned_is_looked_at_again_where_it_matters() -> None:
    """Figure 2 with one child more: player 1 would take (6, 4, 0) if player 2 did, but (b) turns out to be better."""
    b = Node(2, (Leaf((4, 2, 4)), Leaf((0, 5, 5))))
    tree = Node(0, (Leaf((5, 4, 1)), Node(1, (Leaf((2, 3, 5)), b, Leaf((6, 4, 0))))))
    found = DepthFirst(grown(tree), pruning="speculative", table=False, maxsum=10).search()
    assert (found.value, found.again) == ((5, 4, 1), 1)
    assert DepthFirst(grown(tree), pruning="deep", table=False, maxsum=10).search().value == (6, 4, 0)


def test_ties_go_to_the_first_and_negative_payoffs_need_lower_bounds() -> None:
    assert DepthFirst(grown(PROB_MAXN_1)).search().value == (6, 4, 0)
    assert DepthFirst(grown(PROB_MAXN_3), maxsum=40, lower=[0, -10, -20]).search().value == (31, 10, -20)
    with pytest.raises(ValueError, match=r"value \(31.0, 10.0, -20.0\): expected at least"):
        DepthFirst(grown(PROB_MAXN_3), maxsum=40).search()
    with pytest.raises(ValueError, match="and a sum of at most 20"):
        DepthFirst(grown(PROB_MAXN_3), maxsum=20, lower=-20).search()


# Against the definition


def trees(seed: int, *, ties: bool) -> tuple[Tree, int]:
    """A tree and its maxsum."""
    rng = np.random.default_rng(seed)
    players, plies = 2 + seed % 4, 3 + seed % 6
    total = int(rng.choice([6, 10, 20])) if ties else 10**6
    constant = rng.random() < 0.7
    tree = random_tree(
        rng, players, plies, 3 if plies > 6 else 4, (0, total // players), transpositions=rng.random() < 0.5,
        distinct=not ties, constant_sum=total if constant else None, turns=rng.random() < 0.6,
    )  # fmt: skip
    return tree, total


@pytest.mark.parametrize("ties", [False, True], ids=["total order", "ties"])
def test_every_exact_reduction_keeps_the_root_value_and_move(ties: bool) -> None:
    again = 0
    for seed in range(60):
        tree, total = trees(seed, ties=ties)
        for pruning, table, order in product(EXACT, (True, False), range(3)):
            game = grown(tree)
            how = orders(game, np.random.default_rng(seed))[order]
            found = DepthFirst(game, pruning=pruning, table=table, order=how, maxsum=total).search()  # type: ignore[arg-type]
            assert found.value == maxn(tree), (seed, pruning, table, order)
            again += found.again
            if isinstance(tree, Node) and len(tree.children) > 1:
                first = max(tree.children, key=lambda child: maxn(child)[tree.mover])
                assert chosen(tree, found, game.reasoner) is first
    assert again > 20


def full(rng: np.random.Generator, players: int, plies: int, width: int, total: int, ply: int = 0) -> Tree:
    """A tree in which players move in turn and everybody has the same number of moves."""
    if ply == plies:
        cuts = np.sort(rng.integers(0, total + 1, players - 1))
        return Leaf(tuple(np.diff(cuts, prepend=0, append=total).tolist()))
    return Node(ply % players, tuple(full(rng, players, plies, width, total, ply + 1) for _ in range(width)))


def test_node_counts_fall_and_deep_pruning_changes_some_values() -> None:
    visited = dict.fromkeys(PRUNING, 0)
    changed = []
    for seed in range(16):
        tree = full(np.random.default_rng(seed), 3, 6, 3, 100)
        for pruning in PRUNING:
            game = grown(tree)
            found = DepthFirst(game, pruning=pruning, table=False, maxsum=100).search()
            visited[pruning] += found.visited
            if pruning == "deep":
                changed.append(chosen(tree, found, game.reasoner) is not max(tree.children, key=lambda c: maxn(c)[0]))  # type: ignore[union-attr]
            else:
                assert found.value == maxn(tree)
    counts = [visited[pruning] for pruning in PRUNING]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[-2] < counts[-3] < counts[0]
    assert 0 < sum(changed) < len(changed) / 2


def test_deep_pruning_is_exact_for_two_players_with_a_constant_sum() -> None:
    for seed in range(60):
        tree = random_tree(np.random.default_rng(seed), 2, 7, 3, transpositions=bool(seed % 2), constant_sum=8)
        for table in (True, False):
            found = DepthFirst(grown(tree), pruning="deep", table=table, maxsum=8).search()
            assert found.value == maxn(tree)


def test_tables_save_nodes_and_keep_no_value_that_a_window_made() -> None:
    saved = 0
    for seed in range(40):
        tree = random_tree(np.random.default_rng(seed), 3, 7, 3, transpositions=True, constant_sum=20, turns=True)
        for me, rule in product(range(3), ("maxn", "paranoid")):
            with_table = DepthFirst(grown(tree), me, rule, maxsum=20).search()  # type: ignore[arg-type]
            without = DepthFirst(grown(tree), me, rule, maxsum=20, table=False).search()  # type: ignore[arg-type]
            assert with_table.value == without.value
            saved += without.visited - with_table.visited
            assert without.hits == 0
    assert saved > 0


def test_search_to_a_depth_and_deepening_agree_with_the_definition() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, 3, 6, 3, transpositions=True, constant_sum=30)
        game = grown(tree)
        assert isinstance(game.reasoner, TreeReasoner)
        nodes = game.reasoner.nodes
        worth = rng.multinomial(30, [1 / 3] * 3, len(nodes)).astype(float)

        def leaf(states: States, worth: Floats = worth) -> Floats:
            return worth[states[:, 0].astype(np.int64)]

        def at(node: Tree, nodes: list[Tree] = nodes, worth: Floats = worth) -> Value:
            return tuple(worth[nodes.index(node)])

        for pruning in EXACT:
            search = DepthFirst(game, pruning=pruning, order="history", maxsum=30, leaf=leaf)
            for depth in (0, 1, 3, 2, 5):
                fresh = DepthFirst(grown(tree), pruning=pruning, maxsum=30, leaf=leaf)
                assert search.search(depth).value == fresh.search(depth).value == maxn(tree, depth, at)
            last = search.deepen()
            assert last is not None
            assert last.complete
            assert last.value == maxn(tree)


def test_one_child_backs_up_unchanged_and_is_no_ply() -> None:
    tree = Node(1, (Node(0, (Node(2, (Leaf((1, 2, 3)), Leaf((4, 5, 1)))),)),))
    found = DepthFirst(grown(tree), maxsum=10).search(1)
    assert found.value == (1, 2, 3)
    assert len(found.line) == 3
    assert found.complete


def test_chance_is_averaged() -> None:
    for seed in range(30):
        tree = random_tree(np.random.default_rng(seed), 3, 5, 3, (0, 10), chance=True)
        for pruning, order in product(EXACT, range(3)):
            game = grown(tree, chance=True)
            how = orders(game, np.random.default_rng(seed))[order]
            found = DepthFirst(game, pruning=pruning, order=how, maxsum=20).search()  # type: ignore[arg-type]
            assert found.value == pytest.approx(maxn(tree, chance=2))
            for me in range(2):
                value = DepthFirst(grown(tree, chance=True), me, "paranoid", pruning=pruning, order=how).search().value  # type: ignore[arg-type]
                assert value == pytest.approx((paranoid(tree, me, 2),))


# Paranoid


def test_paranoid_agrees_with_the_definition_with_moves_at_once_too() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        chance = bool(seed % 2)
        tree = random_tree(
            rng, 3, 4, 3 - chance, (0, 10), simultaneous=0.3, chance=chance, transpositions=bool(seed % 3)
        )
        for me, pruning, table, order in product(range(2), ("none", "shallow"), (True, False), range(3)):
            for most in (None, 30):
                game = grown(tree, chance=chance)
                how = orders(game, rng)[order]
                search = DepthFirst(game, me, "paranoid", pruning=pruning, table=table, order=how, maxsum=most)  # type: ignore[arg-type]
                assert search.search().value == pytest.approx((paranoid(tree, me, 2 if chance else -1),))


def test_paranoid_takes_the_first_of_equal_moves_in_any_order() -> None:
    for seed in range(60):
        tree = random_tree(np.random.default_rng(seed), 2, 5, 4, (0, 3), turns=True)
        if not isinstance(tree, Node) or len(tree.children) == 1:
            continue
        first = max(tree.children, key=lambda child: paranoid(child, 0))
        for order, most in product(range(3), (None, 6)):
            game = grown(tree)
            how = orders(game, np.random.default_rng(seed))[order]
            found = DepthFirst(game, 0, "paranoid", order=how, maxsum=most).search()  # type: ignore[arg-type]
            assert chosen(tree, found, game.reasoner) is first


def test_paranoid_equals_maxn_for_two_zero_sum_players() -> None:
    for seed in range(40):
        tree = random_tree(np.random.default_rng(seed), 2, 7, 3, constant_sum=100)
        value = DepthFirst(grown(tree), maxsum=100).search().value
        for me in range(2):
            assert DepthFirst(grown(tree), me, "paranoid").search().value == (value[me],)


def test_alpha_beta_visits_less() -> None:
    tree = full(np.random.default_rng(1), 3, 6, 3, 100)
    plain, pruned = (
        DepthFirst(grown(tree), 0, "paranoid", pruning=p, table=False).search() for p in ("none", "shallow")
    )
    assert plain.value == pruned.value
    assert pruned.visited < plain.visited / 2


# Real games, both engines


@pytest.mark.parametrize("engine", ["propnet", "prolog"])
def test_both_engines_search_a_tree_in_gdl(engine: str) -> None:
    tree = random_tree(np.random.default_rng(7), 3, 5, 3, constant_sum=100)
    game = ggp.Game.parse(gdl(tree))
    reasoner = game.reasoner(engine)
    for pruning in EXACT:
        found = DepthFirst(GameTree(reasoner, reasoner.initial()), pruning=pruning, maxsum=maxsum(game)).search()
        assert found.value == maxn(tree)


@pytest.mark.parametrize("rule", ["maxn", "paranoid"])
def test_tic_tac_toe_is_a_draw(rule: str) -> None:
    game = ggp.load("tic_tac_toe")
    reasoner = game.reasoner()
    found = DepthFirst(GameTree(reasoner, reasoner.initial()), 0, rule, order="history", maxsum=maxsum(game)).search()  # type: ignore[arg-type]
    assert set(found.value) == {50}
    assert found.complete
    assert found.states < 5478
    assert str(reasoner.moves[0][found.move[0]]) == "(mark 1 1)"


def test_a_budget_leaves_the_last_complete_search() -> None:
    game = ggp.load("tic_tac_toe")
    reasoner = game.reasoner()

    def even(states: States) -> Floats:
        return np.full((len(states), 2), 50.0)

    def tree() -> GameTree:
        return GameTree(reasoner, reasoner.initial())

    found = DepthFirst(tree(), maxsum=100, leaf=even, max_nodes=500).deepen()
    assert found is not None
    assert 1 <= found.depth < 9
    assert not found.complete
    assert DepthFirst(tree(), leaf=even, max_nodes=5).deepen() is None
    assert DepthFirst(tree(), leaf=even, deadline=Deadline(0.0, lambda: 1.0)).deepen() is None
    assert DepthFirst(GameTree(reasoner, reasoner.initial(), max_states=9), leaf=even).deepen() is None


# Errors


def test_pruning_needs_turns() -> None:
    tree = Stage((2, 2), tuple(Leaf((i, 3 - i)) for i in range(4)))
    with pytest.raises(ValueError, match="pruning needs turns, here p1, p2 move at the same time"):
        DepthFirst(grown(tree)).search()


def test_a_depth_needs_a_leaf_function_and_options_are_checked() -> None:
    with pytest.raises(ValueError, match="the game goes on below the depth: expected a leaf function"):
        DepthFirst(grown(CHALLENGES_2)).search(1)
    with pytest.raises(ValueError, match="pruning 'wild': expected one of none, immediate"):
        DepthFirst(grown(CHALLENGES_2), pruning="wild")
    with pytest.raises(ValueError, match="order 'any': expected text, history or a ranker"):
        DepthFirst(grown(CHALLENGES_2), order="any")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rule 'minimax': expected one of maxn, paranoid"):
        DepthFirst(grown(CHALLENGES_2), rule="minimax")  # type: ignore[arg-type]


def test_a_game_without_end_needs_a_depth() -> None:
    game = ggp.Game.parse(
        "(role a) (init on) (legal a stay) (legal a go) (next on) (<= (next (at ?m)) (does a ?m))"
        "(<= terminal (true off)) (<= (goal a 100) (true off)) (<= (next off) (true off))"
    )
    reasoner = game.reasoner()
    with pytest.raises(ValueError, match="the game goes on after 300 plies: expected a depth"):
        DepthFirst(GameTree(reasoner, reasoner.initial())).search()
