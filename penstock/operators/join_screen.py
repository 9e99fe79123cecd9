"""Which elements of one input can occur in a join's result at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import words
from penstock.operators.join_conditions import Conditions
from penstock.operators.join_terms import Term
from penstock.operators.vector_eval import Projection, predicate, projection
from penstock.plan.expressions import Column, conjunction
from penstock.plan.schema import Schema


class Screen:
    """No NULL in a key, one value in all terms of a class, and the filter over this side alone true."""

    def __init__(self, side: int, schema: Schema, conditions: Conditions, context: Context) -> None:
        self._schema = schema
        self._classes = [
            (terms, projection([t.expression for t in terms], schema, context))
            for terms in conditions.terms(side)
            if terms
        ]
        local = conditions.local[side]
        self._filter = predicate(conjunction(local), schema, context) if local else None

    def passing(self, train: Train, nullable: Callable[[int], bool]) -> Train:
        """The elements that remain; `nullable` says of a column whether it can hold NULL."""
        if not len(train):
            return train
        for terms, values in self._classes:
            if len(terms) > 1 or self._nullable(terms[0], nullable):
                train = _agreeing(train, values)
        return train if self._filter is None else self._filter(train)

    def _nullable(self, term: Term, nullable: Callable[[int], bool]) -> bool:
        return not isinstance(term.expression, Column) or nullable(self._schema.index(term.expression.name))


def _agreeing(train: Train, terms: Projection) -> Train:
    """The elements for which all `terms` have one value, and none is NULL."""
    train, vectors = terms(train)
    kept = np.ones(len(train), np.bool_)
    for vector in vectors:
        if vector.nulls is not None:
            kept &= ~vector.nulls
        kept &= words(vector) == words(vectors[0])
    return train if kept.all() else train.where(kept)
