"""What only the Prolog engine has: a process that can hang, die, be missing, and must never take ours along."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from itertools import accumulate, repeat

import numpy as np
import pytest

from ggp.errors import EngineMissing, MemoryLimit, ReasonerError, TimeLimit
from ggp.game import Game, load
from ggp.parser import parse_ground
from ggp.prolog.reasoner import PrologReasoner
from ggp.prolog.translate import Program, compile_program

FRAME = "(role a) (init (s 0)) (<= terminal (true (s 9))) (goal a 50) "
COUNTING = FRAME + "(p 0) (<= (p (s ?x)) (p ?x)) (<= (legal a ?x) (p ?x))"


def test_runaway_rules_end_at_the_time_limit_and_the_engine_lives_on() -> None:
    reasoner = Game.parse(COUNTING).reasoner("prolog", time_limit=1.0)
    began = time.monotonic()
    with pytest.raises(TimeLimit, match=r"the rules gave no answer to 'legal' within 1 s"):
        reasoner.legal(reasoner.initial(), 0)
    assert time.monotonic() - began < 5
    assert [str(f) for f in reasoner.facts(reasoner.initial())[0]] == ["(s 0)"]


def test_runaway_rules_end_at_the_memory_limit_and_the_engine_lives_on() -> None:
    digits = " ".join(f"(d {i})" for i in range(10))
    names = " ".join(f"?x{i}" for i in range(12))
    join = " ".join(f"(d ?x{i})" for i in range(12))
    reasoner = Game.parse(f"{FRAME} {digits} (<= (legal a (m {names})) {join})").reasoner(
        "prolog", memory_limit=200 << 20
    )
    with pytest.raises(MemoryLimit, match=r"the rules need more than the memory limit of 200 MB"):
        reasoner.legal(reasoner.initial(), 0)
    assert not reasoner.terminal(reasoner.initial())[0]


def test_unsafe_rules_are_reported_not_answered() -> None:
    reasoner = Game.parse(FRAME + "(<= (legal a (go ?x)) (true (s 0)))").reasoner("prolog")
    with pytest.raises(ReasonerError, match=r"the rules derive \(go \?\), where \? is a variable that nothing binds"):
        reasoner.legal(reasoner.initial(), 0)


def test_numbers_keep_their_meaning_after_an_answer_that_was_refused() -> None:
    unsafe = "(legal a go) (<= (legal a (go ?x)) (true (s 0))) (<= (next (s 1)) (does a go))"
    reasoner = Game.parse(FRAME + unsafe).reasoner("prolog")
    states = reasoner.initial()
    with pytest.raises(ReasonerError, match="nothing binds"):
        reasoner.legal(states, 0)  # `go` had got a number by then
    reasoner.moves[0].add(parse_ground("go"))
    assert [str(fact) for fact in reasoner.facts(reasoner.step(states, [[0]]))[0]] == ["(s 1)"]


def test_terms_that_grow_too_deep_are_an_error_of_the_rules() -> None:
    game = Game.parse(
        "(role a) (init (n z)) (legal a go) (<= (next (n (s ?x))) (true (n ?x))) (goal a 0) (<= terminal q)"
    )
    reasoner = game.reasoner("prolog")
    states = reasoner.initial()
    reasoner.legal(states, 0)
    for _ in range(240):
        states = reasoner.step(states, [[0]])
    with pytest.raises(ReasonerError, match=r"the rules derive \(n \(s .*, which is nested deeper than 250 levels"):
        deque(accumulate(repeat([[0]], 20), reasoner.step, initial=states))


def test_a_killed_process_is_replaced_and_numbers_keep_their_meaning() -> None:
    game = load("tic_tac_toe")
    reasoner = PrologReasoner(game.rules, game.roles)
    children = reasoner.expand(reasoner.initial())
    before = reasoner.facts(children.states)
    assert reasoner._worker is not None
    os.kill(reasoner._worker.process.pid, signal.SIGKILL)
    reasoner._worker.process.wait()
    assert reasoner.facts(reasoner.step(reasoner.initial(9), children.joint)) == before
    assert reasoner.legal(children.states, 1).sum(axis=1).tolist() == [8] * 9
    reasoner.close()
    assert len(reasoner.expand(children.states).states) == 72
    reasoner.close()


def test_a_process_that_dies_while_it_answers_is_an_error_and_then_replaced() -> None:
    reasoner = PrologReasoner(Game.parse(COUNTING).rules, ("a",))
    states = reasoner.initial()
    assert reasoner._worker is not None
    pid = reasoner._worker.process.pid
    threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(MemoryLimit, match=r"the Prolog process died \(exit code -9\)"):
        reasoner.legal(states, 0)
    assert not reasoner.terminal(states)[0]
    reasoner.close()


def test_a_forked_child_gets_a_process_of_its_own() -> None:
    reasoner = load("tic_tac_toe").reasoner("prolog")
    states = reasoner.initial()
    child = os.fork()
    if child == 0:
        os._exit(0 if len(reasoner.expand(states).states) == 9 else 1)
    assert len(reasoner.expand(states).states) == 9
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_without_swi_prolog_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("LIBSWIPL_PATH", "/nonexistent/libswipl.so")
    monkeypatch.setenv("SWI_HOME_DIR", "/nonexistent")
    reasoner = PrologReasoner(load("tic_tac_toe").rules, ("xplayer", "oplayer"))
    with pytest.raises(EngineMissing, match="apt install swi-prolog-nox"):
        reasoner.initial()


def test_the_process_ends_with_its_reasoner() -> None:
    reasoner = PrologReasoner(load("tic_tac_toe").rules, ("xplayer", "oplayer"))
    reasoner.initial()
    assert reasoner._worker is not None
    process = reasoner._worker.process
    del reasoner
    assert process.wait(timeout=5) is not None


def test_only_recursive_relations_are_tabled_and_only_dynamic_ones_forgotten() -> None:
    game = Game.parse(
        "(role a) (legal a m) (<= terminal (reach 1 2)) (goal a 1) (e 1 2) (init (f 1 2))"
        "(<= (next (f ?x ?y)) (path ?x ?y))"
        "(<= (path ?x ?y) (e ?x ?y)) (<= (path ?x ?z) (path ?x ?y) (e ?y ?z))"
        "(<= (reach ?x ?y) (true (f ?x ?y))) (<= (reach ?x ?z) (reach ?x ?y) (true (f ?y ?z)))"
    )
    static, dynamic = compile_program(Program(game.rules))
    assert static.tabled == ["'r path ff'/2"]
    assert sorted(dynamic.tabled) == ["'r reach bb'/2", "'r reach bf'/2"]


def test_tests_move_to_where_their_variables_are_bound() -> None:
    rules = Game.parse(FRAME + "(<= (legal a ?x) (distinct ?x ?y) (not (q ?x)) (p ?x) (p ?y)) (p 1) (q 1)").rules
    static, _ = compile_program(Program(rules))
    clause = next(c for c in static.clauses if c.startswith("'r legal bf'('a',V0)"))
    assert clause == "'r legal bf'('a',V0) :- 'r p'(V0),(\\+('r q'(V0)),'r p'(V1),V0\\=V1->true)"


def test_random_games_of_bundled_games_end_with_goals() -> None:
    for name in ("tic_tac_toe", "nim", "rock_paper_scissors", "kuhn_poker_3p"):
        game = load(name)
        reasoner = game.reasoner("prolog")
        found = reasoner.playouts(reasoner.initial(), 20, np.random.default_rng(3))
        players = [i for i in range(len(game.roles)) if i != game.chance]
        assert (found.goals[:, :, players] >= 0).all(), name
