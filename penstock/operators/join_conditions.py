"""What a join's predicate says to each step of its pipelines: what to look up, what to search, what to check.

Equalities are transitive, so they are kept as classes of equal expressions, each over one side (Babu's join on one
attribute of all streams is one class): a step to side j looks up every class that has a member on j and one on a side
that is joined already. Where there is none, comparisons between an expression of j and sides that are joined give the
range of that expression's values to look at. Every other conjunct is checked as soon as its columns are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.operators.join_bounds import Bound, bounds_on
from penstock.operators.join_terms import Term, comparable, localised, sides_of, term_of
from penstock.plan.expressions import Call, Expression, conjunction, conjuncts
from penstock.plan.functions import call


@dataclass(frozen=True, slots=True)
class Conditions:
    """A join predicate taken apart. `local[i]` filters side i on its own; `checks` are the conjuncts over several sides
    that no class holds, in their order."""

    classes: tuple[tuple[Term, ...], ...]
    local: tuple[tuple[Expression, ...], ...]
    checks: tuple[Expression, ...]

    def terms(self, side: int) -> list[tuple[Term, ...]]:
        """For each class the terms on `side`."""
        return [tuple(t for t in members if t.side == side) for members in self.classes]


@dataclass(frozen=True, slots=True)
class Step:
    """One join operator of a pipeline: `keys` pairs a term of `side` with one of a side joined before it, `bounds` are
    used where there are no keys, `checks` is what remains to be true then."""

    side: int
    keys: tuple[tuple[Term, Term], ...]
    bounds: tuple[Bound, ...]
    checks: Expression


def conditions(predicate: Expression, count: int) -> Conditions:
    """A join predicate over `count` inputs, taken apart."""
    local: list[list[Expression]] = [[] for _ in range(count)]
    equal: list[tuple[Term, Term]] = []
    checks: list[Expression] = []
    for conjunct in conjuncts(predicate):
        sides = sides_of(conjunct)
        pair = equality(conjunct)
        if len(sides) < 2:
            local[min(sides, default=0)].append(localised(conjunct))
        elif pair is not None:
            equal.append(pair)
        else:
            checks.append(conjunct)
    return Conditions(_classes(equal), tuple(map(tuple, local)), tuple(checks))


def greedy_order(conditions: Conditions, start: int, count: int) -> tuple[int, ...]:
    """An order of the other sides for the pipeline of `start`: next comes the side that most classes connect with those
    joined already, then the one that most conjuncts do; ties fall to the position."""
    joined, order = {start}, list[int]()
    while len(order) < count - 1:
        rest = [j for j in range(count) if j not in joined]
        best = max(rest, key=lambda j: (_connections(conditions, joined, j), -j))
        joined.add(best)
        order.append(best)
    return tuple(order)


def steps(conditions: Conditions, start: int, order: Sequence[int]) -> list[Step]:
    """The pipeline of `start` that joins the other sides in `order`."""
    joined, waiting, result = {start}, list(conditions.checks), []
    for side in order:
        keys = _keys(conditions, joined, side)
        ready = [c for c in waiting if sides_of(c) <= joined | {side}]
        waiting = [c for c in waiting if c not in ready]
        bounds = () if keys else tuple(b for c in ready for b in bounds_on(c, side))
        result.append(Step(side, keys, bounds, conjunction(tuple(ready))))
        joined.add(side)
    return result


def equality(conjunct: Expression) -> tuple[Term, Term] | None:
    """The two terms that `conjunct` equates, where it does so across two sides."""
    if not isinstance(conjunct, Call) or conjunct.function != "=":
        return None
    if not comparable(conjunct.arguments[0].type, conjunct.arguments[1].type):
        widened = call("=", *conjunct.arguments)
        assert isinstance(widened, Call)
        conjunct = widened
    a, b = conjunct.arguments
    if not (len(sides_of(a)) == len(sides_of(b)) == 1) or sides_of(a) == sides_of(b):
        return None
    return term_of(a), term_of(b)


def _classes(equal: Sequence[tuple[Term, Term]]) -> tuple[tuple[Term, ...], ...]:
    """The equivalence classes under `equal`, members in the order in which they were named."""
    classes: list[list[Term]] = []
    for pair in equal:
        touched = [c for c in classes if pair[0] in c or pair[1] in c]
        merged = list(dict.fromkeys([t for c in touched for t in c] + list(pair)))
        classes = [c for c in classes if c not in touched] + [merged]
    return tuple(map(tuple, classes))


def _keys(conditions: Conditions, joined: set[int], side: int) -> tuple[tuple[Term, Term], ...]:
    keys = []
    for members in conditions.classes:
        here = [t for t in members if t.side == side]
        there = [t for t in members if t.side in joined]
        if here and there:
            keys.append((here[0], there[0]))
    return tuple(keys)


def _connections(conditions: Conditions, joined: set[int], side: int) -> tuple[int, int]:
    checks = [s for s in map(sides_of, conditions.checks) if side in s and s <= joined | {side}]
    return len(_keys(conditions, joined, side)), len(checks)
