"""The bit-parallel kernels: 512 states in one pass over the tape.

A row of `values` is one node for 512 lanes: eight 64-bit words, one vector register where the machine has such. Plain
loops over eight words are not turned into vector instructions (the compiler cannot know that rows do not overlap), so
rows are values of a type of their own here, with a few intrinsics; LLVM splits them on smaller machines. The shape of
`values` says how wide they are: (rows, 8) for 512 lanes, (rows,) for 64, which questions about one state use, because
so small an array stays in the cache. Everything releases the GIL and is cached on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from ggp.propnet.tape import BEFORE, END, GOAL, LOOP, NEXT, RUN, SEES, STATE

WORDS = 8
LANES = 64 * WORDS
FEW = 64  # lanes of narrow rows
BLOCK = 15  # moves that are counted together: their number has four bits
BITS = 24  # of the number of moves of a role

_U = np.uint64
_WORD = ir.IntType(64)
_ONE, _ZERO = _U(1), _U(0)
jit = njit(nogil=True, cache=True)


class Lanes(types.Type):  # type: ignore[misc]
    """One bit for each of the lanes: so many words of them."""

    def __init__(self, words: int) -> None:
        self.words = words
        super().__init__(name=f"Lanes({words})")

    @property
    def vector(self) -> Any:
        return ir.VectorType(_WORD, self.words)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.vector)


def _lanes(array: Any) -> Lanes:
    """The type of a row of `array`."""
    return Lanes(WORDS if array.ndim == 2 else 1)


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    data = cgutils.create_struct_proxy(kind)(context, builder, array).data
    return builder.gep(data, [builder.mul(row, ir.Constant(_WORD, _lanes(kind).words))])


def _fill(builder: Any, vector: Any, word: Any) -> Any:
    none = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(none, word, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, none, places)


@intrinsic
def load(_typing: Any, array: Any, row: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _place(context, builder, signature.args[0], args[0], args[1])
        loaded = builder.load(builder.bitcast(at, signature.return_type.vector.as_pointer()))
        loaded.align = 8
        return loaded

    return _lanes(array)(array, types.uint64), code


@intrinsic
def store(_typing: Any, array: Any, row: Any, lanes: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _place(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(at, args[2].type.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, _lanes(array)), code


@intrinsic
def load_word(_typing: Any, array: Any, row: Any, word: Any) -> Any:
    """Word `word` of a row: lanes from `64 · word` on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.gep(_place(context, builder, signature.args[0], args[0], args[1]), [args[2]]))

    return types.uint64(array, types.uint64, types.uint64), code


@intrinsic
def store_word(_typing: Any, array: Any, row: Any, word: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _place(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[3], builder.gep(at, [args[2]]))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64, types.uint64), code


@intrinsic
def fill(_typing: Any, array: Any, word: Any) -> Any:
    """A row of `array` with the same word in every place."""

    def code(_context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _fill(builder, signature.return_type.vector, args[1])

    return _lanes(array)(array, types.uint64), code


def _binary(operation: str) -> Any:
    @intrinsic
    def operate(_typing: Any, a: Any, b: Any) -> Any:
        def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(args[0], args[1])

        return a(a, a), code

    return operate


both, either, differ, plus = _binary("and_"), _binary("or_"), _binary("xor"), _binary("add")


def _shift(operation: str) -> Any:
    @intrinsic
    def operate(_typing: Any, a: Any, by: Any) -> Any:
        def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(args[0], _fill(builder, args[0].type, args[1]))

        return a(a, types.uint64), code

    return operate


left, right = _shift("shl"), _shift("lshr")


def _reduction(name: str, each: str | None) -> Any:
    @intrinsic
    def reduce(_typing: Any, a: Any) -> Any:
        def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            def call(intrinsic_name: str, returned: Any, vector: Any) -> Any:
                kind = ir.FunctionType(returned, [vector.type])
                full = f"llvm.{intrinsic_name}.v{vector.type.count}i64"
                return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), [vector])

            return call(f"vector.reduce.{name}", _WORD, call(each, args[0].type, args[0]) if each else args[0])

        return types.uint64(a), code

    return reduce


@intrinsic
def trailing(_typing: Any, word: Any) -> Any:
    """The number of the lowest bit that is set."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


any_word = _reduction("or", None)  # zero exactly where no lane is set
count = _reduction("add", "ctpop")  # how many lanes are set


@jit
def literal(values: Any, x: Any) -> Any:
    """The lanes of a literal."""
    u = _U(x)
    return differ(load(values, u >> _ONE), fill(values, _ZERO - (u & _ONE)))


@jit
def row(values: Any, number: Any) -> Any:
    return load(values, _U(number))


@njit(inline="always")
def run(values: Any, inputs: Any, i: Any, to: Any, gates: Any, flip: Any, plain: Any, complemented: Any) -> None:
    """Gates of one shape, into rows from `to` on; their inputs are from `i` on."""
    for _ in range(gates):
        all_of, none_of = fill(values, ~_ZERO), fill(values, _ZERO)
        for k in range(plain):
            all_of = both(all_of, row(values, inputs[i + _U(k)]))
        i += _U(plain)
        for k in range(complemented):
            none_of = either(none_of, row(values, inputs[i + _U(k)]))
        i += _U(complemented)
        store(values, to, differ(both(all_of, differ(none_of, fill(values, ~_ZERO))), flip))
        to += _ONE


@jit
def evaluate(values: Any, program: Any, inputs: Any) -> None:
    """Sets the rows of all gates of a program."""
    zero, ones = fill(values, _ZERO), fill(values, ~_ZERO)
    at = rounds = 0
    while at < len(program):
        operation = program[at, 0]
        if operation == RUN:
            plain, complemented = program[at, 1], program[at, 2]
            flip = ones if program[at, 3] else zero
            to, gates, i = _U(program[at, 4]), program[at, 5], _U(program[at, 6])
            shape = 8 * plain + complemented if plain < 8 and complemented < 8 else -1
            # The numbers are constants in each branch, so that the compiler unrolls the loops over a gate's inputs.
            if shape == 8 * 2:
                run(values, inputs, i, to, gates, flip, 2, 0)
            elif shape == 8 + 1:
                run(values, inputs, i, to, gates, flip, 1, 1)
            elif shape == 2:
                run(values, inputs, i, to, gates, flip, 0, 2)
            elif shape == 8 * 3:
                run(values, inputs, i, to, gates, flip, 3, 0)
            elif shape == 8 * 2 + 1:
                run(values, inputs, i, to, gates, flip, 2, 1)
            elif shape == 8 + 2:
                run(values, inputs, i, to, gates, flip, 1, 2)
            elif shape == 3:
                run(values, inputs, i, to, gates, flip, 0, 3)
            elif shape == 8 * 3 + 1:
                run(values, inputs, i, to, gates, flip, 3, 1)
            elif shape == 4:
                run(values, inputs, i, to, gates, flip, 0, 4)
            else:
                run(values, inputs, i, to, gates, flip, plain, complemented)
        elif operation == LOOP:
            rounds = program[at, 1] + 1  # each but the last makes a variable true
            i = _U(program[at, 2])
            for _ in range(program[at, 1]):
                store(values, _U(inputs[i]), zero)
                i += _U(2)
        else:  # REPEAT
            i = _U(program[at, 2])
            changed = zero
            for _ in range(program[at, 1]):
                old, new = row(values, inputs[i]), literal(values, inputs[i + _ONE])
                changed = either(changed, differ(old, new))
                store(values, _U(inputs[i]), new)
                i += _U(2)
            rounds -= 1
            if rounds > 0 and any_word(changed) != _ZERO:
                at -= program[at, 3]
                continue
        at += 1


@jit
def random_lanes(rng: Any) -> Any:
    """Fresh random bits for every lane (xorshift128+, one generator for each word)."""
    s, t = load(rng, _ONE), load(rng, _ZERO)
    store(rng, _ZERO, s)
    t = differ(t, left(t, _U(23)))
    t = differ(differ(t, right(t, _U(18))), differ(s, right(s, _U(5))))
    store(rng, _ONE, t)
    return plus(s, t)


@jit
def choose(values: Any, legal: Any, first: Any, end: Any, to: Any, rng: Any, scratch: Any, rounds: Any) -> Any:
    """Chooses a uniformly random legal move for each lane and sets the rows of the role's moves, from `to` on.

    Everything works on bit slices: a number for every lane is a row for each of its bits. Moves are counted in blocks
    of 15, whose counts have four bits and stay in registers. Then a number below the total is drawn, as many bits as
    the total has, and again where it came out too large, `rounds` times at most; the counts of the blocks are
    subtracted from it until it would drop below zero, which tells the block, and in there the moves one by one. The
    answer are the lanes that have a move; in the others no move is set.
    """
    zero, ones = fill(values, _ZERO), fill(values, ~_ZERO)
    total, mask, draw, counts = _U(0), _U(BITS), _U(2 * BITS), _U(3 * BITS)  # where they are in `scratch`
    bits = 0  # of the largest total so far
    block = counts
    at = first
    while at < end:  # count
        c0, c1, c2, c3 = zero, zero, zero, zero
        stop = min(at + BLOCK, end)
        while at < stop:
            x = row(values, legal[at])
            c0, x = differ(c0, x), both(c0, x)
            c1, x = differ(c1, x), both(c1, x)
            c2, x = differ(c2, x), both(c2, x)
            c3 = differ(c3, x)
            at += 1
        store(scratch, block, c0)
        store(scratch, block + _U(1), c1)
        store(scratch, block + _U(2), c2)
        store(scratch, block + _U(3), c3)
        carry = zero
        k = 0
        while k < 4 or any_word(carry) != _ZERO:
            old = load(scratch, total + _U(k)) if k < bits else zero
            more = load(scratch, block + _U(k)) if k < 4 else zero
            some = differ(old, more)
            store(scratch, total + _U(k), differ(some, carry))
            carry = either(both(old, more), both(some, carry))
            k += 1
        bits = max(bits, k)
        block += _U(4)
    nonzero = zero
    for k in range(bits):
        nonzero = either(nonzero, load(scratch, total + _U(k)))
    borrow, smear = ones, zero
    for k in range(bits):  # total − 1, whose highest bit says how many bits to draw
        digit = load(scratch, total + _U(k))
        store(scratch, mask + _U(k), differ(digit, borrow))
        borrow = both(differ(digit, ones), borrow)
    for k in range(bits - 1, -1, -1):
        smear = either(smear, load(scratch, mask + _U(k)))
        store(scratch, mask + _U(k), smear)
        store(scratch, draw + _U(k), zero)
    while bits > 0 and any_word(both(load(scratch, total + _U(bits - 1)), nonzero)) == _ZERO:
        bits -= 1
    waiting = nonzero
    for _ in range(rounds):
        if any_word(waiting) == _ZERO:
            break
        less = zero
        for k in range(bits):
            drawn = both(random_lanes(rng), load(scratch, mask + _U(k)))
            limit = load(scratch, total + _U(k))
            old = load(scratch, draw + _U(k))
            store(scratch, draw + _U(k), differ(old, both(waiting, differ(old, drawn))))
            equal = differ(differ(drawn, limit), ones)
            less = either(both(limit, differ(drawn, ones)), both(equal, less))
        waiting = both(waiting, differ(less, ones))
    ready = both(nonzero, differ(waiting, ones))
    left_over = ready
    block = counts
    at = first
    to = _U(to)
    while at < end:  # pick
        stop = min(at + BLOCK, end)
        r0, r1, r2, r3 = zero, zero, zero, zero
        borrow = zero
        for k in range(max(bits, 4)):
            digit = load(scratch, draw + _U(k)) if k < bits else zero
            less_by = load(scratch, block + _U(k)) if k < 4 else zero
            if k == 0:
                r0 = digit
            elif k == 1:
                r1 = digit
            elif k == 2:
                r2 = digit
            elif k == 3:
                r3 = digit
            unlike = differ(digit, less_by)
            store(scratch, draw + _U(k), differ(unlike, borrow))
            borrow = either(both(differ(digit, ones), less_by), both(differ(unlike, ones), borrow))
        here = both(left_over, borrow)
        left_over = both(left_over, differ(borrow, ones))
        if any_word(here) == _ZERO:
            while at < stop:
                store(values, to, zero)
                to += _ONE
                at += 1
        while at < stop:
            x = both(row(values, legal[at]), here)
            r0, x = differ(r0, x), both(x, differ(r0, ones))
            r1, x = differ(r1, x), both(x, differ(r1, ones))
            r2, x = differ(r2, x), both(x, differ(r2, ones))
            r3, x = differ(r3, x), both(x, differ(r3, ones))
            store(values, to, x)
            to += _ONE
            at += 1
        block += _U(4)
    return ready


@jit
def choose_once(values: Any, legal: Any, to: Any, rng: Any, scratch: Any) -> None:
    """`choose` for one role, by itself: for tests."""
    choose(values, legal, 0, len(legal), to, rng, scratch, 64)


@jit
def choose_weighted(
    values: Any, legal: Any, first: Any, end: Any, to: Any, rng: Any, weights: Any, sums: Any
) -> Any:  # fmt: skip
    """The same with odds in proportion to `weights`, lane by lane; uniform where all legal moves weigh nothing."""
    sums[:] = 0.0  # (2, lanes): total weight, number of moves
    for i in range(first, end):
        x = row(values, legal[i])
        if any_word(x) != _ZERO:
            store(rng, _U(2), x)
            for word in range(WORDS):
                bits = rng[2, word]
                while bits != _ZERO:
                    lane = 64 * word + trailing(bits)
                    bits &= bits - _ONE
                    sums[0, lane] += weights[i]
                    sums[1, lane] += 1.0
    for lane in range(LANES):
        if lane % WORDS == 0:
            store(rng, _U(2), random_lanes(rng))
        share = (rng[2, lane % WORDS] >> _U(11)) * 2.0**-53
        if sums[0, lane] > 0.0:
            sums[0, lane] *= share
            sums[1, lane] = -1.0  # weighted; what is left to go is in the other
        else:
            sums[1, lane] *= share
    ready = fill(values, _ZERO)
    for i in range(first, end):
        x = row(values, legal[i])
        chosen = fill(values, _ZERO)
        if any_word(x) != _ZERO:
            store(rng, _U(2), x)
            store(rng, _U(3), ready)
            for word in range(WORDS):
                bits = rng[2, word] & ~rng[3, word]
                rng[2, word] = _ZERO
                while bits != _ZERO:
                    lane = 64 * word + trailing(bits)
                    lowest = bits & (_ZERO - bits)
                    bits ^= lowest
                    if sums[1, lane] < 0.0:
                        hit = sums[0, lane] < weights[i]
                        sums[0, lane] -= weights[i]
                    else:
                        hit = sums[1, lane] < 1.0
                        sums[1, lane] -= 1.0
                    if hit:
                        rng[2, word] |= lowest
            chosen = load(rng, _U(2))
            ready = either(ready, chosen)
        store(values, _U(to), chosen)
        to += 1
    return ready


@jit
def count_goals(values: Any, goals: Any, over: Any, totals: Any) -> None:
    for g in range(len(goals)):
        totals[2 + g] += count(both(over, row(values, goals[g, 2])))


@jit
def advance(values: Any, nexts: Any, start: Any, moved: Any, again: Any) -> None:
    """Lanes of `moved` go to their next state, lanes of `again` to their start, others stay."""
    stay = differ(either(moved, again), fill(values, ~_ZERO))
    for f in range(len(nexts)):
        after = both(moved, row(values, nexts[f]))
        other = either(both(again, load(start, _U(f))), both(stay, load(values, _U(1 + f))))
        store(values, _U(1 + f), either(after, other))


@jit
def bulk(
    values: Any, programs: Any, inputs: Any, nexts: Any, legal: Any, first_move: Any, terminal: Any,
    goals: Any, start: Any, rng: Any, scratch: Any, passes: Any, totals: Any,
) -> None:  # fmt: skip
    """`passes` steps of random play in all lanes; a lane that ends starts again at once from its lane of `start`.

    `totals` grows by (states, games, and for each entry of `goals` how many games ended with it).
    """
    facts, roles = len(nexts), len(first_move) - 1
    ones = fill(values, ~_ZERO)
    for _ in range(passes):
        evaluate(values, programs[STATE], inputs)
        over = row(values, terminal)
        moved = differ(over, ones)
        for role in range(roles):
            to = 1 + facts + first_move[role]
            ready = choose(values, legal, first_move[role], first_move[role + 1], to, rng, scratch, 4)
            moved = both(moved, ready)
        evaluate(values, programs[NEXT], inputs)
        if any_word(over) != _ZERO:
            evaluate(values, programs[GOAL], inputs)
            totals[1] += count(over)
            count_goals(values, goals, over, totals)
        totals[0] += count(moved)
        advance(values, nexts, start, moved, over)


@jit
def playouts(
    values: Any, programs: Any, inputs: Any, nexts: Any, legal: Any, first_move: Any, terminal: Any,
    goals: Any, start: Any, rng: Any, scratch: Any, states: Any, n: Any, max_steps: Any, weights: Any,
    sums: Any, found_goals: Any, found_steps: Any,
) -> None:  # fmt: skip
    """`n` random games from each of `states`, each game on one lane after the other's end; see `Reasoner.playouts`."""
    facts, roles = len(nexts), len(first_move) - 1
    ones = fill(values, ~_ZERO)
    jobs = len(states) * n
    each = (jobs + LANES - 1) // LANES
    job = np.empty(LANES, np.int64)
    born = np.zeros(LANES, np.int64)
    lanes = np.zeros((2, WORDS), np.uint64)  # rows: those at work, those that end now
    start[:] = _ZERO
    for lane in range(LANES):
        job[lane] = lane * each
        if job[lane] < jobs:
            lanes[0, lane // 64] |= _ONE << _U(lane % 64)
            put_lane(start, states, job[lane] // n, lane)
    for f in range(facts):
        store(values, _U(1 + f), load(start, _U(f)))
    now = 0
    while any_word(load(lanes, _ZERO)) != _ZERO:
        working = load(lanes, _ZERO)
        evaluate(values, programs[STATE], inputs)
        moved = both(working, differ(row(values, terminal), ones))
        for role in range(roles):
            to, first, end = 1 + facts + first_move[role], first_move[role], first_move[role + 1]
            if len(weights) and weights[first] >= 0.0:
                moved = both(moved, choose_weighted(values, legal, first, end, to, rng, weights, sums))
            else:
                moved = both(moved, choose(values, legal, first, end, to, rng, scratch, 64))
        store(lanes, _ONE, both(working, differ(moved, ones)))
        if now >= max_steps:
            for lane in range(LANES):
                if now - born[lane] >= max_steps:
                    lanes[1, lane // 64] |= lanes[0, lane // 64] & (_ONE << _U(lane % 64))
        ending = load(lanes, _ONE)
        if any_word(ending) != _ZERO:
            evaluate(values, programs[GOAL], inputs)
            for g in range(len(goals)):
                store(rng, _U(2), both(ending, row(values, goals[g, 2])))
                for word in range(WORDS):
                    bits = rng[2, word]
                    while bits != _ZERO:
                        lane = 64 * word + trailing(bits)
                        bits &= bits - _ONE
                        role, value = goals[g, 0], goals[g, 1]
                        if value > found_goals[job[lane], role]:
                            found_goals[job[lane], role] = value
            for word in range(WORDS):
                bits = lanes[1, word]
                while bits != _ZERO:
                    lane = 64 * word + trailing(bits)
                    bits &= bits - _ONE
                    found_steps[job[lane]] = now - born[lane]
                    born[lane] = now + 1
                    before = job[lane] // n
                    job[lane] += 1
                    if job[lane] >= min((lane + 1) * each, jobs):
                        lanes[0, word] &= ~(_ONE << _U(lane % 64))
                    elif job[lane] // n != before:
                        put_lane(start, states, job[lane] // n, lane)
        evaluate(values, programs[NEXT], inputs)
        advance(values, nexts, start, both(moved, differ(ending, ones)), ending)
        now += 1


@jit
def put_lane(rows_of_facts: Any, states: Any, state: Any, lane: Any) -> None:
    """Writes one packed state into its lane."""
    word, bit = lane // 64, _ONE << _U(lane % 64)
    for f in range(len(rows_of_facts)):
        if states[state, f // 64] >> _U(f % 64) & _ONE:
            rows_of_facts[f, word] |= bit
        else:
            rows_of_facts[f, word] &= ~bit


@jit
def transpose(block: Any) -> None:
    """Swaps bit b of word w with bit w of word b, for 64 words."""
    width, mask = _U(32), _U(0x00000000FFFFFFFF)
    while width:
        for i in range(_U(32)):
            k = i + (i & _ZERO - width)  # the numbers without that bit
            moved = (block[k] >> width ^ block[k + width]) & mask
            block[k + width] ^= moved
            block[k] ^= moved << width
        width >>= _ONE
        mask ^= mask << width


@jit
def unpack(values: Any, first_row: Any, packed: Any, which: Any) -> None:
    """Puts the packed states of `which`, no more than there are lanes, into lanes: a row a bit, from `first_row` on."""
    block = np.empty(64, np.uint64)
    for word in range((len(which) + 63) // 64):
        some = min(64, len(which) - 64 * word)
        for column in range(packed.shape[1]):
            for k in range(some):
                block[k] = packed[which[64 * word + k], column]
            block[some:] = _ZERO
            transpose(block)
            for bit in range(min(64, len(values) - first_row - 64 * column)):
                store_word(values, first_row + 64 * column + bit, word, block[bit])


@jit
def pack(values: Any, asked: Any, packed: Any, begin: Any, n: Any) -> None:
    """Reads the lanes of the rows `asked` into rows `begin` to `begin + n` of `packed`, a bit for each."""
    block = np.empty(64, np.uint64)
    for column in range(packed.shape[1]):
        some = min(64, len(asked) - 64 * column)
        for word in range((n + 63) // 64):
            for bit in range(some):
                block[bit] = load_word(values, asked[64 * column + bit], word)
            block[some:] = _ZERO
            transpose(block)
            for k in range(min(64, n - 64 * word)):
                packed[begin + 64 * word + k, column] = block[k]


@jit
def answer(
    values: Any, programs: Any, inputs: Any, nexts: Any, first_move: Any, states: Any, parents: Any, joint: Any,
    asked: Any, packed: Any, children: Any, deep: Any,
) -> None:  # fmt: skip
    """Answers for the states `states[parents]` in blocks of 512: sets `packed` to the bits of the rows `asked`.

    With moves in `joint` (not empty) they are played, and `children` become the next states. `deep`: 0 answers in the
    states themselves, 1 in the states after the moves, 2 in between, where percepts are. Narrow rows do for `FEW`.
    """
    facts, roles, n = len(nexts), len(first_move) - 1, len(parents)
    for begin in range(0, n, LANES):
        some = min(LANES, n - begin)
        unpack(values[: 1 + facts], 1, states, parents[begin : begin + some])
        evaluate(values, programs[STATE], inputs)
        if len(joint):
            clear_moves(values, facts, first_move[roles])
            for k in range(some):
                for role in range(roles):
                    put_move(values, 1 + facts + first_move[role] + joint[begin + k, role], k)
            evaluate(values, programs[NEXT], inputs)
            if deep == 2:
                evaluate(values, programs[SEES], inputs)
            else:
                pack(values, nexts, children, begin, some)
                if deep == 1:
                    go_on(values, nexts)
                    evaluate(values, programs[STATE], inputs)
        if deep != 2:
            evaluate(values, programs[GOAL], inputs)
        pack(values, asked, packed, begin, some)


@jit
def put_all(values: Any, state: Any, facts: Any) -> None:
    """Puts one packed state into all lanes."""
    for f in range(facts):
        on = state[f // 64] >> _U(f % 64) & _ONE
        store(values, 1 + f, fill(values, _ZERO - on))


@jit
def put_move(values: Any, number: Any, lane: Any) -> None:
    """Sets the row of a move in one lane."""
    store_word(values, number, lane // 64, load_word(values, number, lane // 64) | _ONE << _U(lane % 64))


@jit
def clear_moves(values: Any, facts: Any, moves: Any) -> None:
    for move in range(moves):
        store(values, 1 + facts + move, fill(values, _ZERO))


@jit
def go_on(values: Any, nexts: Any) -> None:
    """All lanes go to their next state."""
    for f in range(len(nexts)):
        store(values, 1 + f, row(values, nexts[f]))


@jit
def is_set(values: Any, number: Any, lane: Any) -> Any:
    return load_word(values, number, lane // 64) >> _U(lane % 64) & _ONE


@jit
def step_one(
    narrow: Any, programs: Any, inputs: Any, nexts: Any, first_move: Any, state: Any, joint: Any, child: Any
) -> None:
    """The state after one joint move, by itself. Rows of moves are clear before and after."""
    facts = len(nexts)
    put_all(narrow, state, facts)
    for role in range(len(joint)):
        store(narrow, 1 + facts + first_move[role] + joint[role], fill(narrow, ~_ZERO))
    evaluate(narrow, programs[BEFORE], inputs)
    evaluate(narrow, programs[NEXT], inputs)
    for column in range(len(child)):
        word = _ZERO
        for bit in range(min(64, facts - 64 * column)):
            word |= is_set(narrow, nexts[64 * column + bit], 0) << _U(bit)
        child[column] = word
    for role in range(len(joint)):
        store(narrow, 1 + facts + first_move[role] + joint[role], fill(narrow, _ZERO))


@njit(inline="always")
def play_all(
    values: Any, programs: Any, inputs: Any, nexts: Any, first_move: Any, terminal: Any, goals: Any, options: Any,
    sizes: Any, total: Any, state: Any, joint: Any, children: Any, over: Any, worth: Any,
) -> None:  # fmt: skip
    """The first `total` joint moves of `options`, of which each role has `sizes`, in a state that is in all lanes."""
    facts, roles = len(nexts), len(first_move) - 1
    index = np.zeros(roles, np.int64)
    for begin in range(0, total, LANES):
        some = min(LANES, total - begin)
        if begin:
            put_all(values, state, facts)
            evaluate(values, programs[BEFORE], inputs)
        for k in range(some):
            for role in range(roles):
                move = options[role, index[role]]
                joint[begin + k, role] = move
                put_move(values, 1 + facts + first_move[role] + move, k)
            for role in range(roles - 1, -1, -1):
                index[role] += 1
                if index[role] < sizes[role]:
                    break
                index[role] = 0
        evaluate(values, programs[NEXT], inputs)
        pack(values, nexts, children, begin, some)
        go_on(values, nexts)
        for role in range(roles):
            for i in range(sizes[role]):
                store(values, 1 + facts + first_move[role] + options[role, i], fill(values, _ZERO))
        evaluate(values, programs[END], inputs)
        for k in range(some):
            over[begin + k] = is_set(values, terminal, k)
            worth[begin + k, :] = -1
        for g in range(len(goals)):
            for k in range(some):
                if is_set(values, goals[g, 2], k):
                    worth[begin + k, goals[g, 0]] = max(worth[begin + k, goals[g, 0]], goals[g, 1])


@jit
def children_of(
    values: Any, narrow: Any, programs: Any, inputs: Any, nexts: Any, legal: Any, first_move: Any, terminal: Any,
    goals: Any, options: Any, state: Any, joint: Any, children: Any, over: Any, worth: Any,
) -> int:  # fmt: skip
    """All children of one state, at most as many as `children` has rows; returns their number.

    Sets the joint moves, the packed children, whether they are terminal, and their goals (−1: none). Rows of moves are
    clear before and after; `options` is scratch, (roles, moves). Wide rows are touched only for more than `FEW`.
    """
    facts, roles = len(nexts), len(first_move) - 1
    put_all(narrow, state, facts)
    evaluate(narrow, programs[STATE], inputs)
    if is_set(narrow, terminal, 0):
        return 0
    sizes = np.zeros(roles, np.int64)
    total = 1
    for role in range(roles):
        for move in range(first_move[role], first_move[role + 1]):
            if is_set(narrow, legal[move], 0):
                options[role, sizes[role]] = move - first_move[role]
                sizes[role] += 1
        total *= sizes[role]
    total = min(total, len(children))
    if total <= FEW:
        play_all(
            narrow, programs, inputs, nexts, first_move, terminal, goals, options, sizes, total,
            state, joint, children, over, worth,
        )  # fmt: skip
    else:
        put_all(values, state, facts)
        evaluate(values, programs[BEFORE], inputs)
        play_all(
            values, programs, inputs, nexts, first_move, terminal, goals, options, sizes, total,
            state, joint, children, over, worth,
        )  # fmt: skip
    return total


@jit
def repeat_children(
    values: Any, narrow: Any, programs: Any, inputs: Any, nexts: Any, legal: Any, first_move: Any, terminal: Any,
    goals: Any, options: Any, states: Any, joint: Any, children: Any, over: Any, worth: Any, times: Any,
) -> int:  # fmt: skip
    """`children_of` for each of `states`, so many times over: what it costs a search that lives in a kernel."""
    n = 0
    for _ in range(times):
        for state in range(len(states)):
            n = children_of(
                values, narrow, programs, inputs, nexts, legal, first_move, terminal, goals, options,
                states[state], joint, children, over, worth,
            )  # fmt: skip
    return n


@jit
def repeat_step(
    narrow: Any,
    programs: Any,
    inputs: Any,
    nexts: Any,
    first_move: Any,
    states: Any,
    joint: Any,
    child: Any,
    times: Any,
) -> None:
    """`step_one` from each of `states` by its row of `joint`, so many times over."""
    for _ in range(times):
        for state in range(len(states)):
            step_one(narrow, programs, inputs, nexts, first_move, states[state], joint[state], child)


@jit
def joint_moves(legal: Any, live: Any, first_move: Any, parents: Any, joint: Any) -> int:
    """Lists all joint moves of all live states into `parents` and `joint`, and returns their number.

    With empty arrays it only counts. `legal` are packed bits, one for each move of each role.
    """
    roles = len(first_move) - 1
    most = 0
    for role in range(roles):
        most = max(most, first_move[role + 1] - first_move[role])
    options = np.empty((roles, most), np.int64)
    sizes, index = np.empty(roles, np.int64), np.empty(roles, np.int64)
    at = 0
    for state in range(len(legal)):
        if not live[state]:
            continue
        product = 1
        for role in range(roles):
            sizes[role] = 0
            for move in range(first_move[role], first_move[role + 1]):
                if legal[state, move // 64] >> _U(move % 64) & _ONE:
                    options[role, sizes[role]] = move - first_move[role]
                    sizes[role] += 1
            product *= sizes[role]
        if len(parents):
            index[:] = 0
            for k in range(product):
                parents[at + k] = state
                for role in range(roles):
                    joint[at + k, role] = options[role, index[role]]
                for role in range(roles - 1, -1, -1):
                    index[role] += 1
                    if index[role] < sizes[role]:
                        break
                    index[role] = 0
        at += product
    return at


def rows(n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """`n` rows of zeros, aligned to cache lines."""
    space = np.zeros((n + 1) * WORDS, np.uint64)
    skip = (-space.ctypes.data % 64) // 8
    return space[skip : skip + n * WORDS].reshape(n, WORDS)
