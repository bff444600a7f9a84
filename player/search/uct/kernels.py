"""The UCT tree as arrays, and the loops over it: descents, openings, admissions, back-ups.

A node is a state. It is closed until it is visited again; then it is opened and gets a slot for each legal move of each
role. Where at most one role has a choice (`mover`), that role's slots lead to the children; where several have one, the
joint moves that were tried are edges in a hash table. Nodes whose worth is known for certain are solved.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

NONE = -1  # a child that was never made; −2 − r is the one that request r of this round will make
SEVERAL = -1  # as `mover`: a joint move leads on
CLOSED, WANTED = -1, -2  # as `first`: without slots; to be opened in this round
OPENING, KNOWN = -1, -2  # how a descent may end, instead of a request: at a node that is wanted or solved
NODES, SLOTS, EDGES = 0, 1, 2  # of `used`
CERTAIN = 1 - 1e-9

_U = np.uint64
jit = njit(nogil=True, cache=True)


class Arrays(NamedTuple):
    """The tree. Tables are open-addressed hash tables of numbers + 1, their sizes powers of two."""

    keys: npt.NDArray[np.uint64]  # (nodes, words): equal exactly where states are
    first: npt.NDArray[np.int32]  # (nodes,): the first slot
    counts: npt.NDArray[np.int32]  # (nodes, roles): how many slots each role has, one role after the other
    mover: npt.NDArray[np.int16]  # (nodes,)
    visits: npt.NDArray[np.int32]  # (nodes,): descents that went on from here
    plies: npt.NDArray[np.int16]  # (nodes,): to the end with best play where solved, else −1
    value: npt.NDArray[np.float64]  # (nodes, roles): what is certain where solved, else the goals in this state; 0 … 1
    table: npt.NDArray[np.int32]
    move: npt.NDArray[np.int32]  # (slots,)
    tries: npt.NDArray[np.int32]  # (slots,): also by descents of this round, whose value comes later: virtual loss
    total: npt.NDArray[np.float64]  # (slots,): sum of values of the slot's role
    child: npt.NDArray[np.int32]  # (slots,): of the mover
    exact: npt.NDArray[np.bool_]  # (slots,): the mover's child is solved
    odds: npt.NDArray[np.float32]  # (slots,): by the model of the role; −1 without one. Empty where no role has one
    parent: npt.NDArray[np.int32]  # (edges,)
    joint: npt.NDArray[np.uint64]  # (edges,): hash of the joint move
    to: npt.NDArray[np.int32]  # (edges,): the child
    edge_table: npt.NDArray[np.int32]
    fame: npt.NDArray[np.float64]  # (roles, moves, 2): mean value of each move wherever it was tried, and how often
    used: npt.NDArray[np.int64]  # (3,): nodes, slots, edges
    rng: npt.NDArray[np.uint64]  # (1,)


class Batch(NamedTuple):
    """One round of descents, and the requests to the engine that they end in."""

    at: npt.NDArray[np.int32]  # (descents,): the last node
    depth: npt.NDArray[np.int32]  # (descents,)
    leaf: npt.NDArray[np.int32]  # (descents,): request, or OPENING or KNOWN
    nodes: npt.NDArray[np.int32]  # (descents, depth)
    slots: npt.NDArray[np.int32]  # (descents, depth, roles)
    instead: npt.NDArray[np.int32]  # (descents, depth): the solved child that the mover prefers to what it tries, or −1
    origin: npt.NDArray[np.int32]  # (requests,): the node whose child is wanted
    moves: npt.NDArray[np.int64]  # (requests, roles): the joint move; −1: the node itself
    place: npt.NDArray[np.int64]  # (requests,): slot, or −2 − edge, that leads to it; −1: nothing does
    node: npt.NDArray[np.int32]  # (requests,): what was found, −1 if there was no room for it
    result: npt.NDArray[np.float64]  # (requests, roles)
    wanted: npt.NDArray[np.int32]  # (descents,): nodes to be opened
    counts: npt.NDArray[np.int64]  # (2,): requests, wanted nodes


@jit
def mixed(x: Any) -> Any:
    """A word whose bits all depend on all bits of `x` (splitmix64)."""
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@jit
def uniform(rng: Any) -> Any:
    rng[0] += _U(0x9E3779B97F4A7C15)
    return (mixed(rng[0]) >> _U(11)) * 2.0**-53


@jit
def node_place(table: Any, keys: Any, wanted: Any, row: Any) -> Any:
    """Where in the table the node is, or would be, whose key is this row of `wanted`."""
    words = keys.shape[1]
    code = _U(0)
    for w in range(words):
        code = mixed(code ^ wanted[row, w]) + _U(0x9E3779B97F4A7C15)
    mask = len(table) - 1
    place = np.int64(code & _U(mask))
    while table[place] != 0:
        node = table[place] - 1
        same = True
        for w in range(words):
            if keys[node, w] != wanted[row, w]:
                same = False
                break
        if same:
            break
        place = (place + 1) & mask
    return place


@jit
def edge_place(t: Any, node: Any, joint: Any) -> Any:
    mask = len(t.edge_table) - 1
    place = np.int64(mixed(joint ^ _U(node)) & _U(mask))
    while t.edge_table[place] != 0:
        edge = t.edge_table[place] - 1
        if t.parent[edge] == node and t.joint[edge] == joint:
            break
        place = (place + 1) & mask
    return place


@jit
def find(t: Any, wanted: Any) -> Any:
    """The node whose key is the first row of `wanted`, −1 if there is none."""
    return t.table[node_place(t.table, t.keys, wanted, 0)] - 1


@jit
def pick(
    tries: Any, total: Any, exact: Any, child: Any, value: Any, odds: Any, rng: Any, move: Any, fame: Any,
    visits: Any, begin: Any, end: Any, role: Any, c: Any, fpu: Any, history: Any, trust: Any,
) -> Any:  # fmt: skip
    """The slot that a role tries: UCB1, with `fpu` as the score of what was never tried; ties at random.

    Progressive history: moves that did well elsewhere get up to `history` more, less and less as they fail here.

    A role with a model follows it with probability `trust`. What is certain needs no visits: the best of the others is
    tried, and the second answer is the solved child that the role prefers to it, −1 if there is none.
    """
    if len(odds) and odds[begin] >= 0 and uniform(rng) < trust:
        left = uniform(rng)
        for slot in range(begin, end):
            left -= odds[slot]
            if left < 0:
                return slot, -1
    best, found, ties = -1.0, begin, 0
    sure, solved = 0.0, -1
    width = c * sqrt(log(max(visits, 1)))
    for slot in range(begin, end):
        if exact[slot]:
            if value[child[slot], role] > sure:
                sure, solved = value[child[slot], role], child[slot]
            continue
        score = fpu
        if tries[slot] > 0:
            per = 1.0 / sqrt(float(tries[slot]))
            score = total[slot] * per * per + width * per
        if history > 0:
            score += history * fame[role, move[slot], 0] / (tries[slot] - total[slot] + 1)
        if score > best:
            best, found, ties = score, slot, 1
        elif score == best:
            ties += 1
            if uniform(rng) * ties < 1:
                found = slot
    return found, solved if sure >= best else -1


@jit
def descend(t: Any, b: Any, n: Any, c: Any, fpu: Any, history: Any, chance: Any, trust: Any, opening: Any) -> None:
    """Takes the first `n` descents that have not ended on to a request, a solved node, or (`opening`) a closed one."""
    # Locals, because each access through a tuple counts references.
    first, counts, movers, visits, plies, value = t.first, t.counts, t.mover, t.visits, t.plies, t.value
    move, tries, total, child_of, exact, odds, rng = t.move, t.tries, t.total, t.child, t.exact, t.odds, t.rng
    leaf, path, slots, instead, fame = b.leaf, b.nodes, b.slots, b.instead, t.fame
    roles = counts.shape[1]
    for i in range(n):
        if leaf[i] != OPENING:
            continue
        node, d = b.at[i], b.depth[i]
        while True:
            if plies[node] >= 0:
                leaf[i] = KNOWN
                break
            if opening and first[node] < 0:
                if first[node] == CLOSED:
                    first[node] = WANTED
                    b.wanted[b.counts[1]] = node
                    b.counts[1] += 1
                break
            if first[node] < 0 or d == path.shape[1]:
                leaf[i] = ask(b, node, -1)
                break
            path[i, d], instead[i, d] = node, -1
            slot = np.int64(first[node])
            at = np.int64(-1)
            mover = movers[node]
            for role in range(roles):
                end = slot + counts[node, role]
                tried = slot
                if end > slot + 1:
                    if role == chance:
                        tried = slot + np.int64(uniform(rng) * (end - slot))
                    else:
                        tried, preferred = pick(
                            tries, total, exact, child_of, value, odds, rng, move, fame,
                            visits[node], slot, end, role, c, fpu, history, trust,
                        )  # fmt: skip
                        if preferred >= 0:
                            instead[i, d] = preferred
                tries[tried] += 1
                slots[i, d, role] = tried
                if role == mover:
                    at = tried
                slot = end
            visits[node] += 1
            d += 1
            if mover >= 0:
                child = child_of[at]
            else:
                joint = _U(0)
                for role in range(roles):
                    joint = mixed(joint + _U(move[slots[i, d - 1, role]] + 1) * _U(0x9E3779B97F4A7C15))
                at = edge(t, node, joint)
                child = t.to[-2 - at] if at < -1 else NONE
            if child < 0:
                if child == NONE:
                    request = ask(b, node, at)
                    for role in range(roles):
                        b.moves[request, role] = move[slots[i, d - 1, role]]
                    child = -2 - request
                    link(t, at, child)
                leaf[i] = -2 - child
                break
            node = child
        b.at[i], b.depth[i] = node, d


@jit
def edge(t: Any, node: Any, joint: Any) -> Any:
    """−2 − the edge of this joint move, made if there is room; −1 if there is none."""
    place = edge_place(t, node, joint)
    if t.edge_table[place] == 0:
        if t.used[EDGES] == len(t.to):
            return -1
        new = t.used[EDGES]
        t.used[EDGES] += 1
        t.parent[new], t.joint[new], t.to[new] = node, joint, NONE
        t.edge_table[place] = new + 1
    return -1 - np.int64(t.edge_table[place])


@jit
def ask(b: Any, node: Any, place: Any) -> Any:
    request = b.counts[0]
    b.counts[0] += 1
    b.origin[request] = node
    b.moves[request] = -1
    b.place[request] = place
    return request


@jit
def link(t: Any, place: Any, child: Any) -> None:
    if place >= 0:
        t.child[place] = child
    elif place < -1:
        t.to[-2 - place] = child


@jit
def open_nodes(t: Any, b: Any, legal: Any, first_move: Any, odds: Any) -> None:
    """Gives slots to the wanted nodes as long as there is room. `legal` (wanted, all roles' moves side by side)."""
    roles = t.counts.shape[1]
    for i in range(b.counts[1]):
        node = b.wanted[i]
        slot = t.used[SLOTS]
        movers, mover, stuck = 0, 0, False
        t.first[node] = CLOSED
        for role in range(roles):
            begin = slot
            for move in range(first_move[role], first_move[role + 1]):
                if legal[i, move]:
                    if slot == len(t.move):
                        break
                    t.move[slot] = move - first_move[role]
                    t.tries[slot] = 0
                    t.total[slot] = 0.0
                    t.child[slot] = NONE
                    t.exact[slot] = False
                    if len(t.odds):
                        t.odds[slot] = odds[i, move]
                    slot += 1
            t.counts[node, role] = slot - begin
            if slot == begin:
                stuck = True
            elif slot > begin + 1:
                movers += 1
                mover = role
        if slot == len(t.move):  # perhaps cut short
            continue
        if stuck:  # the rules go no further: it counts as the end
            t.plies[node] = 0
            continue
        t.mover[node] = mover if movers <= 1 else SEVERAL
        t.first[node] = t.used[SLOTS]
        t.used[SLOTS] = slot


@jit
def admit(t: Any, b: Any, wanted: Any, terminal: Any, goals: Any) -> None:
    """Makes nodes of the states that were asked for, as long as there is room, and fills in what is certain of them."""
    table, keys, value, plies, result = t.table, t.keys, t.value, t.plies, b.result
    roles = value.shape[1]
    for r in range(b.counts[0]):
        if b.moves[r, 0] < 0:
            b.node[r] = b.origin[r]
            continue
        for role in range(roles):
            result[r, role] = min(max(goals[r, role], 0), 100) / 100
        place = node_place(table, keys, wanted, r)
        node = table[place] - 1
        if node >= 0:
            if plies[node] >= 0:
                for role in range(roles):
                    result[r, role] = value[node, role]
        elif t.used[NODES] < len(keys):
            node = t.used[NODES]
            t.used[NODES] += 1
            table[place] = node + 1
            for w in range(keys.shape[1]):
                keys[node, w] = wanted[r, w]
            for role in range(roles):
                value[node, role] = result[r, role]
            t.first[node] = CLOSED
            t.visits[node] = 0
            plies[node] = 0 if terminal[r] else -1
        b.node[r] = node
        link(t, b.place[r], node)  # NONE, if there is no room


@jit
def abandon(t: Any, b: Any) -> None:
    """Forgets the requests of a round that was broken off."""
    for r in range(b.counts[0]):
        link(t, b.place[r], NONE)
    for i in range(b.counts[1]):
        if t.first[b.wanted[i]] == WANTED:
            t.first[b.wanted[i]] = CLOSED


@jit
def back_up(t: Any, b: Any, n: Any, chance: Any, trust: Any) -> None:
    """Adds what each descent found to the slots it went through, and solves what can be solved."""
    total, value, plies, slots, result = t.total, t.value, t.plies, b.slots, b.result
    counts, fame, move = t.counts, t.fame, t.move
    roles = value.shape[1]
    for i in range(n):
        leaf = b.leaf[i]
        known = b.at[i] if leaf == KNOWN else -1  # the node whose value it is, if it is not the request's
        node = b.at[i] if leaf == KNOWN else b.node[leaf]
        solved = node >= 0 and plies[node] >= 0
        for d in range(b.depth[i] - 1, -1, -1):
            for role in range(roles):
                slot = slots[i, d, role]
                found = value[known, role] if known >= 0 else result[leaf, role]
                total[slot] += found
                if counts[b.nodes[i, d], role] > 1:
                    fame[role, move[slot], 1] += 1
                    fame[role, move[slot], 0] += (found - fame[role, move[slot], 0]) / fame[role, move[slot], 1]
            if solved:
                node = b.nodes[i, d]
                mover = t.mover[node]
                if mover >= 0 and t.child[slots[i, d, mover]] >= 0:
                    t.exact[slots[i, d, mover]] = True
                    solved = plies[node] >= 0 or solve(t, node, mover, chance, trust)
                else:
                    solved = False
            if b.instead[i, d] >= 0:
                known = b.instead[i, d]


@jit
def solve(t: Any, node: Any, mover: Any, chance: Any, trust: Any) -> bool:
    """Whether the node's worth is certain: the mover has a move worth all, or all moves are certain.

    It is maxⁿ with ties shared; dice and models are expectations over all moves. Wins are taken soon, all else late.
    """
    begin = t.first[node]
    for role in range(mover):
        begin += t.counts[node, role]
    end = begin + t.counts[node, mover]
    modelled = len(t.odds) > 0 and t.odds[begin] >= 0
    choice = mover != chance and not (modelled and trust >= 1)
    best, certain, plies, latest, winner = -1.0, 0, 0, 0, -1
    for slot in range(begin, end):
        if t.exact[slot]:
            child = t.child[slot]
            certain += 1
            best = max(best, t.value[child, mover])
            latest = max(latest, t.plies[child])
            if t.value[child, mover] >= CERTAIN and (winner < 0 or t.plies[child] < plies):
                winner, plies = child, t.plies[child]
    if choice and not modelled and winner >= 0:
        t.value[node] = t.value[winner]
    elif certain == end - begin:
        plies = latest
        t.value[node] = 0.0
        shared, ties = np.zeros(t.value.shape[1]), 0
        for slot in range(begin, end):
            child = t.child[slot]
            if mover == chance or t.value[child, mover] >= best - 1e-9:
                shared += t.value[child]
                ties += 1
            if modelled:
                t.value[node] += trust * t.odds[slot] * t.value[child]
        t.value[node] += (1 - trust if modelled else 1.0) * (shared / ties)
    else:
        return False
    t.plies[node] = min(plies + 1, 32767)
    return True


@jit
def reachable(t: Any, root: Any) -> Any:
    """Which nodes can still be reached."""
    heads = np.full(t.used[NODES], -1, np.int32)  # edges as lists by parent
    following = np.empty(t.used[EDGES], np.int32)
    for edge in range(t.used[EDGES]):
        following[edge] = heads[t.parent[edge]]
        heads[t.parent[edge]] = edge
    live = np.zeros(t.used[NODES], np.bool_)
    stack = np.empty(t.used[NODES], np.int32)
    live[root] = True
    stack[0] = root
    size = 1
    while size:
        size -= 1
        node = stack[size]
        if t.first[node] >= 0:
            for slot in range(t.first[node], t.first[node] + t.counts[node].sum()):
                child = t.child[slot]
                if child >= 0 and not live[child]:
                    live[child] = True
                    stack[size] = child
                    size += 1
        edge = heads[node]
        while edge >= 0:
            child = t.to[edge]
            if child >= 0 and not live[child]:
                live[child] = True
                stack[size] = child
                size += 1
            edge = following[edge]
    return live


@jit
def compact(t: Any, live: Any, by_slot: Any) -> Any:
    """Keeps only the live nodes, and says which they were. `by_slot`: live open nodes in the order of their slots."""
    number = np.full(len(live), -1, np.int32)
    kept = np.flatnonzero(live)
    number[kept] = np.arange(len(kept))
    slots = 0
    for node in by_slot:
        begin = t.first[node]
        size = t.counts[node].sum()
        t.first[node] = slots
        for k in range(size):
            t.move[slots], t.tries[slots] = t.move[begin + k], t.tries[begin + k]
            t.total[slots], t.exact[slots] = t.total[begin + k], t.exact[begin + k]
            child = t.child[begin + k]
            t.child[slots] = number[child] if child >= 0 else NONE
            if len(t.odds):
                t.odds[slots] = t.odds[begin + k]
            slots += 1
    t.table[:] = 0
    for new in range(len(kept)):
        old = kept[new]
        t.keys[new], t.counts[new], t.value[new] = t.keys[old], t.counts[old], t.value[old]
        t.first[new], t.mover[new] = t.first[old], t.mover[old]
        t.visits[new], t.plies[new] = t.visits[old], t.plies[old]
        t.table[node_place(t.table, t.keys, t.keys, new)] = new + 1
    edges = 0
    t.edge_table[:] = 0
    for edge in range(t.used[EDGES]):
        if live[t.parent[edge]] and t.to[edge] >= 0:
            node, joint = number[t.parent[edge]], t.joint[edge]
            t.to[edges] = number[t.to[edge]]
            t.parent[edges], t.joint[edges] = node, joint
            t.edge_table[edge_place(t, node, joint)] = edges + 1
            edges += 1
    t.used[NODES], t.used[SLOTS], t.used[EDGES] = len(kept), slots, edges
    return kept
