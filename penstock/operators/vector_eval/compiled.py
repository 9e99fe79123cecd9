"""What operators hold: expressions ready to run on trains. They can be pickled: closures, which cannot, are rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Array, Vector
from penstock.operators.vector_eval.build import build
from penstock.operators.vector_eval.scope import Scope, spread
from penstock.plan.expressions import Expression, conjuncts
from penstock.plan.fold import fold
from penstock.plan.functions import SetAside
from penstock.plan.schema import Schema


class Compiled:
    """An expression on trains: `compiled(train)` is its vector, as long as the train.

    Where a user's function fails on some rows, it raises SetAside with their positions (`rows`): they are counted
    already, and have no result. `Projection` and `Predicate` leave them out by themselves.
    """

    __slots__ = ("_run", "_said")

    def __init__(self, expression: Expression, schema: Schema, context: Context) -> None:
        self._said = (expression, schema, context)
        self._run = build(fold(expression), Scope(schema, context))

    def __call__(self, train: Train) -> Vector:
        vector = self._run(train)
        return vector if vector.values.ndim else spread(vector, len(train))

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, self._said


class Predicate:
    """A filter on trains: `predicate(train)` is the train with only the elements for which the expression is true.

    Conjuncts are evaluated in their order, each for the elements that the ones before it have left.
    """

    __slots__ = ("_closures", "_said")

    def __init__(self, expression: Expression, schema: Schema, context: Context) -> None:
        self._said = (expression, schema, context)
        scope = Scope(schema, context)
        self._closures = [build(c, scope) for c in conjuncts(fold(expression))]

    def __call__(self, train: Train) -> Train:
        for closure in self._closures:
            try:
                mask = closure(train).values
            except SetAside as failure:
                return self(without(train, failure))
            rows = mask.nonzero()[0] if mask.ndim else np.arange(len(train) if mask else 0)
            if len(rows) != len(train):
                train = train.take(rows)
        return train

    def __reduce__(self) -> tuple[Any, ...]:
        return Predicate, self._said


class Condition:
    """One filter of several: `condition(train)` says for which elements it is true, one boolean for all where it reads
    no column. Raises SetAside as `Compiled` does."""

    __slots__ = ("_run", "_said")

    def __init__(self, expression: Expression, schema: Schema, context: Context) -> None:
        self._said = (expression, schema, context)
        self._run = build(fold(expression), Scope(schema, context))

    def __call__(self, train: Train) -> Array:
        return self._run(train).values

    def __reduce__(self) -> tuple[Any, ...]:
        return Condition, self._said


class Projection:
    """Several expressions on trains: `projection(train)` is the train and their vectors.

    The train is the one given, but for rows on which a user's function fails: those are left out of it, and of every
    vector.
    """

    __slots__ = ("_parts", "_said")

    def __init__(self, expressions: Sequence[Expression], schema: Schema, context: Context) -> None:
        self._said = (tuple(expressions), schema, context)
        self._parts = [Compiled(e, schema, context) for e in expressions]

    def __call__(self, train: Train) -> tuple[Train, list[Vector]]:
        while True:
            try:
                return train, [part(train) for part in self._parts]
            except SetAside as failure:
                train = without(train, failure)

    def __reduce__(self) -> tuple[Any, ...]:
        return Projection, self._said


def without(train: Train, failure: SetAside) -> Train:
    """`train` without the rows that were set aside."""
    kept = np.ones(len(train), np.bool_)
    kept[failure.rows] = False
    return train.where(kept)


def compiled(expression: Expression, schema: Schema, context: Context) -> Compiled:
    """`expression` ready to run on trains whose columns are `schema`'s."""
    return Compiled(expression, schema, context)


def predicate(expression: Expression, schema: Schema, context: Context) -> Predicate:
    """`expression` as a filter of trains whose columns are `schema`'s."""
    return Predicate(expression, schema, context)


def projection(expressions: Sequence[Expression], schema: Schema, context: Context) -> Projection:
    """`expressions` ready to run together on trains whose columns are `schema`'s."""
    return Projection(expressions, schema, context)
