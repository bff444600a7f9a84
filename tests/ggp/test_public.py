"""What others rely on: the public names, the tree of errors, and one-way imports."""

from __future__ import annotations

import ast
import builtins
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import ggp
import learner
import player
from ggp import errors
from ggp.game import ENGINES, Game, load

PACKAGES = (ggp, learner, player)


def modules() -> Iterator[str]:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(("worker", "kernels")):  # a process of its own; compiled when imported
                yield module.name


def test_the_public_names() -> None:
    assert sorted(ggp.__all__) == [
        "Compound", "GGPError", "Game", "GdlError", "GdlSyntaxError", "IllegalMove", "Reasoner", "ReasonerError",
        "Rule", "State", "Symbol", "Term", "UnknownGame", "Variable", "load", "parse", "parse_term",
    ]  # fmt: skip
    assert dir(ggp) == sorted(ggp.__all__)
    for name in ggp.__all__:
        assert getattr(ggp, name).__module__.startswith(("ggp.", "types", "typing")), name


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'ggp' has no attribute 'chess'$"):
        ggp.chess  # noqa: B018


def test_every_error_is_in_the_tree_of_the_docstring_with_the_builtin_it_resembles() -> None:
    for name in modules():
        import_module(name)
    known = all_errors(errors.GGPError)
    drawn = re.findall(r"^[│ ]*[├└]── (\w+)(?: \((\w+)\))?", errors.__doc__ or "", re.MULTILINE)
    assert {error.__name__ for error in known} == {name for name, _ in drawn}
    for error in known:
        assert error.__module__ == "ggp.errors", f"{error} belongs into the tree"
    for name, resembled in drawn:
        if resembled:
            assert issubclass(getattr(errors, name), getattr(builtins, resembled))


def all_errors(root: type[Exception]) -> set[type[Exception]]:
    return {error for child in root.__subclasses__() for error in (child, *all_errors(child))}


def test_imports_point_one_way() -> None:
    """scripts → player → learner → ggp."""
    order = [package.__name__ for package in PACKAGES]
    for package in PACKAGES:
        later = order[order.index(package.__name__) + 1 :]
        for path in Path(package.__path__[0]).rglob("*.py"):
            for name in imported(path):
                assert name.partition(".")[0] not in later, f"{path} imports {name}"


def test_pyswip_and_clingo_have_one_importer_each_and_numba_only_kernels() -> None:
    sources = [path for package in PACKAGES for path in Path(package.__path__[0]).rglob("*.py")]
    users = {
        foreign: [path for path in sources if any(name.partition(".")[0] == foreign for name in imported(path))]
        for foreign in ("pyswip", "clingo", "numba")
    }
    assert [path.name for path in users["pyswip"]] == ["worker.py"]
    assert len(users["clingo"]) <= 1
    assert {path.name for path in users["numba"]} <= {"kernels.py"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_a_game_uses_the_engine_and_the_limits_that_were_chosen() -> None:
    game = load("nim")
    hurried = game.using("prolog", time_limit=5)
    assert hurried.initial.reasoner is game.reasoner("prolog", time_limit=5)
    assert hurried.reasoner(time_limit=60) is game.reasoner("prolog")
    assert hurried.using("prolog", time_limit=5) is hurried
    assert hurried.initial == game.initial
    with pytest.raises(ValueError, match=f"^engine 'steam': expected one of {', '.join(ENGINES)}$"):
        game.using("steam").initial  # noqa: B018


def test_errors_that_name_the_role_or_the_engine() -> None:
    game = Game.parse("(role a) (init x) (legal a go) (<= terminal (true y)) (goal a 0)")
    with pytest.raises(ValueError, match=r"^role 'b': expected one of a$"):
        game.initial.legal("b")
    with pytest.raises(errors.IllegalMove, match=r"^2 moves, expected one for each of a$"):
        game.initial.play("go", "go")
    with pytest.raises(errors.IllegalMove, match=r"^a cannot play run here, expected one of go$"):
        game.initial.play("run")
