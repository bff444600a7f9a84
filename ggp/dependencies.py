"""Strongly connected components: which relations are recursive, and in which order the others can be settled."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(uses: Mapping[Node, Collection[Node]]) -> list[list[Node]]:
    """Strongly connected components of the graph, each after all that it uses. Linear, and without recursion.

    >>> components({"a": ["b"], "b": ["c", "a"], "c": []})
    [['c'], ['b', 'a']]
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    found: list[list[Node]] = []
    for start in uses:
        if start in index:
            continue
        path = [(start, iter(uses[start]))]
        index[start] = low[start] = len(index)
        open_nodes.append(start)
        is_open.add(start)
        while path:
            node, rest = path[-1]
            for used in rest:
                if used not in index:
                    index[used] = low[used] = len(index)
                    open_nodes.append(used)
                    is_open.add(used)
                    path.append((used, iter(uses.get(used, ()))))
                    break
                if used in is_open:
                    low[node] = min(low[node], index[used])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while True:
                        member = open_nodes.pop()
                        is_open.discard(member)
                        group.append(member)
                        if member == node:
                            break
                    found.append(group)
    return found
