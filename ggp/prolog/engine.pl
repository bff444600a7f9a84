/*  Plays the game whose clauses were loaded into the module `static`, and into `game` where they depend on the state.

    answer(+Request, -Reply): Reply is text. Its first line is JSON; each further line is a term that got a number in
    this answer, in the order of the numbers: a letter for its kind (f: fact of the state, d: data) and the term as GDL.
    Where the rules leave a variable in an answer, Reply is `!` and the term.

    The state are the clauses of the dynamic predicates of `game`: from one state to the next only what differs is
    retracted and asserted. A state travels as a list of numbers of facts, a move as a number.
*/
:- module(engine, [answer/2]).
:- use_module(library(lists)).
:- use_module(library(random)).
:- use_module(library(solution_sequences)).
:- use_module(library(time)).
:- use_module(library(yall)).

:- dynamic known/2, next_number/1, dynamic_tables/0.
:- dynamic game:does/2.
:- add_import_module(game, static, start).

next_number(0).

answer(Request, Reply) :-
    nb_setval(fresh, []),
    catch(request(Request, Json), not_ground(Kind, Term), true),
    (   var(Kind)
    ->  b_getval(fresh, Fresh),
        reverse(Fresh, Terms),
        with_output_to(string(Reply), ( write(Json), maplist(show, Terms) ))
    ;   with_output_to(string(Reply), ( write(!), show(Kind, Term) ))
    ).

show(Kind-Term) :- nl, write(Kind), show(Kind, Term).

show(d, Term) :- kif(Term).
show(f, Goal) :- compound(Goal), compound_name_arguments(Goal, 't ', [Fact]), !, kif(Fact).
show(f, Goal) :-
    Goal =.. [Name|Args],
    sub_atom(Name, 2, _, 0, Bare),
    Fact =.. [Bare|Args],
    kif(Fact).

kif(Term) :- var(Term), !, write(?).
kif(Term) :- atomic(Term), !, write(Term).
kif(Term) :-
    compound_name_arguments(Term, Name, Args),
    write('('), write(Name),
    forall(member(Arg, Args), ( write(' '), kif(Arg) )),
    write(')').

/*  Getting ready */

request(load(Module, Text, Tabled), 1) :-
    open_string(Text, Stream),
    repeat,
    read_term(Stream, Clause, [module(Module)]),
    (   Clause == end_of_file -> !
    ;   assertz(Module:Clause), fail
    ),
    forall(member(P, Tabled), table(Module:P)),
    (   Module == game, Tabled = [_|_] -> assertz(dynamic_tables) ; true ).
request(state(Predicates), 1) :- forall(member(P, Predicates), dynamic(game:P)).
/*  Replaces a relation by its facts if they are few and quickly found: 1, else 0. */
request(materialise(Goal, Fact, Seconds, Most), Done) :-
    (   catch(call_with_time_limit(Seconds, findall(Fact, limit(Most, static:Goal), Facts)), _, fail),
        length(Facts, Size),
        Size < Most,
        ground(Facts)
    ->  sort(Facts, Set),
        forall(member(F, Set), assertz(static:F)),
        (   Set == [] -> assertz(static:(Fact :- fail)) ; true ),
        Done = 1
    ;   Done = 0
    ).
/*  Terms that Python numbers: those of an earlier worker, or facts from outside. */
request(number(Terms), 1) :- maplist([Kind-T]>>number(Kind, T, _), Terms).

/*  The questions of the Reasoner interface; rows come as lists */

request(initial, Numbers) :-
    findall(F, game:'r init f'(F), Fs),
    sort(Fs, State),
    numbers(f, State, Numbers).
request(legal(States, Role), Rows) :- maplist(legal_row(Role), States, Rows).
request(step(States, Roles, Joints), Rows) :- maplist(step_row(Roles), States, Joints, Rows).
request(terminal(States), Rows) :- maplist(terminal_row, States, Rows).
request(goals(States, Roles), Rows) :- maplist(goal_row(Roles), States, Rows).
request(sees(States, Roles, Joints, Role), Rows) :- maplist(sees_row(Roles, Role), States, Joints, Rows).
request(playouts(States, Roles, N, Seed, MaxSteps, Weights), Rows) :-
    set_random(seed(Seed)),
    maplist(odds, Weights, Odds),
    maplist(playouts_row(Roles, N, MaxSteps, Odds), States, Rows).

odds([], []) :- !.
odds(Weights, Trie) :-
    trie_new(Trie),
    forall(member(Number-W, Weights), ( known(Number, Move), trie_insert(Trie, Move, W) )).

legal_row(Role, State, Numbers) :-
    enter(State),
    findall(M, game:'r legal bf'(Role, M), Ms),
    sort(Ms, Moves),
    numbers(d, Moves, Numbers).

step_row(Roles, State, Joint, Numbers) :-
    enter(State),
    maplist(known, Joint, Moves),
    choose(Roles, Moves),
    next_state(Next),
    forget,
    numbers(f, Next, Numbers).

terminal_row(State, Answer) :-
    enter(State),
    (   game:'r terminal ' -> Answer = 1 ; Answer = 0 ).

goal_row(Roles, State, Goals) :-
    enter(State),
    maplist(goal_values, Roles, Goals).

goal_values(Role, Values) :-
    findall(V, ( game:'r goal bf'(Role, A), decimal(A, V) ), Vs),
    sort(Vs, Values).

/*  Digits and nothing else: what Prolog takes for a number besides is a symbol of GDL. */
decimal(Atom, Value) :-
    atom(Atom),
    atom_codes(Atom, Codes),
    forall(member(Code, Codes), between(0'0, 0'9, Code)),
    atom_number(Atom, Value).

sees_row(Roles, Role, State, Joint, Numbers) :-
    enter(State),
    maplist(known, Joint, Moves),
    choose(Roles, Moves),
    findall(P, game:'r sees bf'(Role, P), Ps),
    sort(Ps, Percepts),
    unchoose,
    forget,
    numbers(d, Percepts, Numbers).

/*  Random games */

playouts_row(Roles, N, MaxSteps, Odds, Numbers, Games) :-
    maplist(known, Numbers, Facts),
    sort(Facts, State),
    enter(Numbers),
    numlist(1, N, Ns),
    foldl(playout_from(State, Roles, MaxSteps, Odds), Ns, Games, State, Last),
    update(Last, []),
    nb_setval(state, []).

playout_from(Start, Roles, MaxSteps, Odds, _, [Steps|Goals], Now, Last) :-
    move_to(Now, Start),
    playout(0, MaxSteps, Roles, Odds, Start, Last, Steps),
    maplist(goal_values, Roles, Goals).

playout(Step, MaxSteps, Roles, Odds, State, Last, Steps) :-
    (   Step < MaxSteps,
        \+ game:'r terminal ',
        random_moves(Roles, Odds, Moves)
    ->  choose(Roles, Moves),
        next_state(Next),
        move_to(State, Next),
        Step1 is Step + 1,
        playout(Step1, MaxSteps, Roles, Odds, Next, Last, Steps)
    ;   Steps = Step, Last = State
    ).

/*  Fails where a role has no legal move: a dead end. */
random_moves([], _, []).
random_moves([Role|Roles], Odds, [Move|Moves]) :-
    findall(M, game:'r legal bf'(Role, M), Ms),
    sort(Ms, Legal),
    pick(Odds, Legal, Move, Rest),
    random_moves(Roles, Rest, Moves).

/*  Odds is [] (all uniform) or a list with an entry for each role: [] or a trie of weights by move. */
pick([], Legal, Move, []) :- uniform(Legal, Move).
pick([Weights|Rest], Legal, Move, Rest) :-
    (   Weights == [] -> uniform(Legal, Move)
    ;   maplist(weight(Weights), Legal, Ws),
        sum_list(Ws, Total),
        (   Total > 0 -> Point is random_float * Total, at_point(Legal, Ws, Point, Move)
        ;   uniform(Legal, Move)
        )
    ).

uniform([Move], Chosen) :- !, Chosen = Move.
uniform(Legal, Move) :-
    Array =.. [moves|Legal],
    functor(Array, _, Size),
    Size > 0,
    I is random(Size) + 1,
    arg(I, Array, Move).

weight(Weights, Move, W) :- ( trie_lookup(Weights, Move, W0) -> W = W0 ; W = 1.0 ).

at_point([Move|Moves], [W|Ws], Point, Chosen) :-
    Rest is Point - W,
    (   ( Rest < 0, W > 0 ; Moves == [] ) -> Chosen = Move
    ;   at_point(Moves, Ws, Rest, Chosen)
    ).

/*  The state */

enter(Numbers) :-
    (   nb_current(state, Numbers) -> true
    ;   nb_current(state, Old) -> maplist(known, Old, OldFacts), enter_from(OldFacts, Numbers)
    ;   enter_from([], Numbers)
    ).

enter_from(OldFacts, Numbers) :-
    maplist(known, Numbers, Facts),
    sort(OldFacts, Old),
    sort(Facts, New),
    nb_setval(state, Numbers),
    move_to(Old, New).

choose(Roles, Moves) :-
    assert_moves(Roles, Moves),
    forget.

/*  Nothing but `next` and `sees` may depend on moves, so they go as soon as those are known. */
unchoose :- retractall(game:does(_, _)).

assert_moves([], []).
assert_moves([Role|Roles], [Move|Moves]) :-
    assertz(game:does(Role, Move)),
    assert_moves(Roles, Moves).

next_state(State) :-
    findall(F, game:'r next f'(F), Fs),
    sort(Fs, State),
    unchoose.

move_to(Old, New) :-
    update(Old, New),
    forget.

forget :- ( dynamic_tables -> abolish_module_tables(game) ; true ).

update([], New) :- !, add(New).
update(Old, []) :- !, remove(Old).
update([A|As], [B|Bs]) :-
    compare(Order, A, B),
    update(Order, A, As, B, Bs).

update(=, _, As, _, Bs) :- update(As, Bs).
update(<, A, As, B, Bs) :- retractall(game:A), update(As, [B|Bs]).
update(>, A, As, B, Bs) :- assertz(game:B), update([A|As], Bs).

add([]).
add([F|Fs]) :- assertz(game:F), add(Fs).

remove([]).
remove([F|Fs]) :- retractall(game:F), remove(Fs).

/*  Numbers of terms */

numbers(Kind, Terms, Numbers) :- maplist(number(Kind), Terms, Numbers).

number(Kind, Term, Number) :-
    table_of_terms(Trie),
    (   trie_lookup(Trie, Term, N) -> Number = N
    ;   ground(Term)
    ->  retract(next_number(Number)),
        Next is Number + 1,
        assertz(next_number(Next)),
        trie_insert(Trie, Term, Number),
        assertz(known(Number, Term)),
        b_getval(fresh, Fresh),
        b_setval(fresh, [Kind-Term|Fresh])
    ;   throw(not_ground(Kind, Term))
    ).

:- dynamic term_trie/1.
table_of_terms(Trie) :- term_trie(Trie), !.
table_of_terms(Trie) :- trie_new(Trie), assertz(term_trie(Trie)).
