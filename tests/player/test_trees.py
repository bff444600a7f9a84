"""The trees that the tests of search are made of: as a reasoner and as GDL they are the same game."""

from __future__ import annotations

import numpy as np
import pytest

import ggp
from ggp.reasoner import Children, Reasoner, States, expand
from tests.player.trees import (
    CHALLENGES_1,
    CHALLENGES_2,
    MAX_PROB_1,
    PROB_MAXN_1,
    Leaf,
    Stage,
    Tree,
    TreeReasoner,
    gdl,
    names,
    players,
    random_tree,
)

TREES: dict[str, Tree] = {
    "prob-maxn 1": PROB_MAXN_1,
    "max-prob 1": MAX_PROB_1,
    "challenges 1": CHALLENGES_1,
    "challenges 2": CHALLENGES_2,
    "one leaf": Leaf((7, 8)),
    "stage": Stage((2, 1, 2), tuple(Leaf((i, 0, 9)) for i in range(4))),
    "drawn": random_tree(np.random.default_rng(1), 4, 4, transpositions=True, simultaneous=0.3),
}


def told(reasoner: Reasoner, states: States, found: Children) -> set[tuple[object, ...]]:
    """Children in words, so that engines can be compared."""
    before, after = reasoner.facts(states), reasoner.facts(found.states)
    return {
        (
            before[parent],
            tuple(str(reasoner.moves[role][move]) for role, move in enumerate(found.joint[k].tolist())),
            after[k],
            bool(found.terminal[k]),
            tuple(found.goals[k].tolist()),
        )
        for k, parent in enumerate(found.parents.tolist())
    }


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("engine", ["propnet", "prolog"])
def test_a_tree_and_its_gdl_have_the_same_children(name: str, engine: str) -> None:
    tree = TreeReasoner(TREES[name])
    game = ggp.Game.parse(gdl(TREES[name]))
    reasoner = game.reasoner(engine)
    assert reasoner.roles == tree.roles
    ours = np.arange(len(tree.nodes), dtype=np.uint64)[:, None]
    theirs = reasoner.encode(tree.facts(ours))
    assert reasoner.facts(reasoner.initial()) == tree.facts(tree.initial())
    assert told(tree, ours, tree.expand(ours)) == told(reasoner, theirs, reasoner.expand(theirs))
    assert tree.goals(ours).tolist() == reasoner.goals(theirs).tolist()
    assert tree.terminal(ours).tolist() == reasoner.terminal(theirs).tolist()


@pytest.mark.parametrize("name", TREES)
def test_expand_agrees_with_legal_and_step(name: str) -> None:
    tree = TreeReasoner(TREES[name])
    states = np.arange(len(tree.nodes), dtype=np.uint64)[:, None]
    found, slow = tree.expand(states), expand(tree, states)
    for field in ("parents", "joint", "states", "terminal", "goals"):
        assert np.array_equal(getattr(found, field), getattr(slow, field))


def leaves(tree: Tree) -> list[tuple[int, ...]]:
    return [tree.payoffs] if isinstance(tree, Leaf) else [leaf for child in tree.children for leaf in leaves(child)]


def test_distinct_leaves_tie_for_nobody_and_may_sum_to_a_constant() -> None:
    for seed in range(20):
        tree = random_tree(np.random.default_rng(seed), 3, 6, distinct=True, constant_sum=100_000)
        found = leaves(tree)
        assert all(sum(leaf) == 100_000 for leaf in found)
        assert all(len({leaf[role] for leaf in found}) == len(found) for role in range(3))


def test_playouts_end_at_leaves_and_follow_odds() -> None:
    reasoner = TreeReasoner(CHALLENGES_1)
    rng = np.random.default_rng(3)
    ends = {tuple(goals) for goals in reasoner.playouts(reasoner.initial(), 200, rng).goals[0].tolist()}
    assert ends == set(leaves(CHALLENGES_1))
    odds = [[0, 0, 1], [0, 1, 0], None]
    assert np.unique(reasoner.playouts(reasoner.initial(), 20, rng, odds).goals[0], axis=0).tolist() == [[2, 3, 4]]


def test_chance_is_the_last_player_and_gets_nothing() -> None:
    tree = random_tree(np.random.default_rng(4), 3, 4, chance=True)
    assert names(players(tree), chance=True) == ("p1", "p2", "random")
    assert all(leaf[-1] == 0 for leaf in leaves(tree))
    assert ggp.Game.parse(gdl(tree, names(3, chance=True))).chance == 2
