"""Random typed expressions over one wide schema, random rows for it, and trains of these rows in random cuts and
selections.
"""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.operators.base import Context
from penstock.operators.columns.train import Train
from penstock.operators.vector_eval import to_vector
from penstock.plan.expressions import Column, Expression, Literal
from penstock.plan.functions import call, cast
from penstock.plan.functions.casts import possible
from penstock.plan.functions.registry import FUNCTIONS
from penstock.plan.functions.signature import Signature
from penstock.plan.schema import Schema
from penstock.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, Type, array, decimal

SCHEMA = Schema.parse(
    "b boolean, c boolean, i int, j int, n bigint, m bigint, x double, y double, "
    "d decimal(10, 2), e decimal(6, 4), w decimal(25, 3), s string, r string, "
    "t timestamp, u timestamp, a date, k interval, v array<bigint>, f array<double>"
)
TYPES = (BOOLEAN, INT, BIGINT, DOUBLE, decimal(10, 2), decimal(6, 4), decimal(25, 3), STRING, TIMESTAMP, DATE, INTERVAL,
         array(BIGINT), array(DOUBLE))  # fmt: skip
VARIABLES = {
    "T": TYPES,
    "N": (INT, BIGINT, DOUBLE, decimal(10, 2), decimal(25, 3)),
    "I": (INT, BIGINT),
    "D": (DATE, TIMESTAMP),
    "E": (BIGINT, DOUBLE),
    "any": TYPES,
    "text": (STRING, INT, DOUBLE, BOOLEAN, TIMESTAMP),
    "decimal": (decimal(10, 2), INT, decimal(25, 3)),
}
SKIPPED = ("cast",)
"""Not drawn: `cast` is put wherever a call gives another type than is needed."""

_DAY = 86_400_000_000
_TIMES = [0, -1, 1, _DAY, -_DAY, 20484 * _DAY + 45_296_789_012, -719162 * _DAY, 2**62, -(2**63)]
TELLING: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int": [0, 1, -1, 2, 7, -3, 60, 1000, 2**31 - 1, -(2**31)],
    "bigint": [0, 1, -1, 3, -7, 2**53 + 1, 3037000500, 10**18, 2**62, -(2**62), 2**63 - 1, -(2**63)],
    "double": [0.0, -0.0, 0.5, 1.5, -2.5, 0.1, 1.005, 1e7, 1e15, 2.0**63, 1e300, -1e300, 1e-300, 5e-324,
               math.inf, -math.inf, math.nan],
    "string": ["", "a", "A", "abc", "aa", "a%c", "a_c", "a.b.c", "%", "(", " x ", "é", "ß", "日本", "İ", "1 day",
               "true", "week", "0", "10", "-3", "1.5", "NaN", "2026-01-31", "1970-01-01 00:00:01", "yyyy-MM-dd"],
    "timestamp": _TIMES,
    "interval": _TIMES,
    "date": [0, -1, 20484, 11016, 2**31 - 1, -(2**31), -719528],
}  # fmt: skip
"""Values at which functions are wrong if they are wrong anywhere."""
_RANDOM: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-9, 9),
    "bigint": st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(-100, 100) | st.integers(-9, 9).map(float),
    "string": st.text(max_size=4),
    "timestamp": st.integers(-(10**16), 10**16),
    "interval": st.integers(-(10**16), 10**16),
    "date": st.integers(-100_000, 100_000),
}


def telling(t: Type) -> list[Any]:
    """`TELLING` for any type, NULL among them."""
    if t.element is not None:
        return [None, (), *((v,) for v in telling(t.element)), tuple(telling(t.element)[1:4])]
    if t.name == "decimal":
        most = 10**t.precision - 1
        return [None, *(Decimal(n).scaleb(-t.scale) for n in (0, 1, -1, 5, 50, 150, -149, most, -most))]
    return [None, *TELLING[t.name]]


def values(t: Type) -> st.SearchStrategy[Any]:
    """Internal values of `t`, NULL among them."""
    if t.element is not None:
        return st.none() | st.lists(values(t.element), max_size=3).map(tuple)
    if t.name == "decimal":
        most = 10**t.precision - 1
        return st.sampled_from(telling(t)) | st.integers(-most, most).map(lambda n: Decimal(n).scaleb(-t.scale))
    return st.sampled_from(telling(t)) | _RANDOM[t.name]


def rows() -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(st.tuples(*(values(t) for t in SCHEMA.types)), max_size=6)


def telling_rows(count: int) -> list[tuple[Any, ...]]:
    """Rows of telling values, each column with its own in random order, over and over."""
    random = Random(count)
    columns = [random.sample(telling(t) * count, count) for t in SCHEMA.types]
    return list(zip(*columns, strict=True))


@st.composite
def expressions(draw: st.DrawFn, t: Type, depth: int = 3) -> Expression:
    """An expression of type `t`."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return _leaf(draw, t)
    fitting = [s for f in FUNCTIONS.values() if f.name not in SKIPPED for s in f.signatures if _gives(s, t)]
    made = draw(applications(draw(st.sampled_from(fitting)), depth, t))
    if made is None or made.type == t:
        return _leaf(draw, t) if made is None else made
    return cast(made, t) if possible(made.type, t) else _leaf(draw, t)


@st.composite
def applications(draw: st.DrawFn, signature: Signature, depth: int = 1, t: Type = BIGINT) -> Expression | None:
    """A call of a function, one that gives `t` where its signature leaves the choice; None where it is refused."""
    bound = {v: draw(st.sampled_from(VARIABLES[v])) for v in ("T", "N", "I", "D", "E")}
    if signature.result in bound and t in VARIABLES[signature.result]:
        bound[signature.result] = t
    count = draw(st.integers(signature.required, len(signature.parameters) + 2 * signature.repeated))
    words = (signature.parameters + signature.parameters[-1:] * 2)[:count]
    arguments = [draw(expressions(_type_of(w, bound, draw), depth - 1)) for w in words]
    try:
        return call(signature.name, *arguments)
    except PenstockError:
        return None


def _leaf(draw: st.DrawFn, t: Type) -> Expression:
    names = [f.name for f in SCHEMA if f.type == t]
    if names and draw(st.integers(0, 2)):
        return Column(draw(st.sampled_from(names)), t)
    return Literal(draw(values(t)), t)


def _gives(signature: Signature, t: Type) -> bool:
    word = signature.result
    return word == str(t) or t in VARIABLES.get(word, ()) or (word.startswith("array<") and t.element is not None)


def _type_of(word: str, bound: dict[str, Type], draw: st.DrawFn) -> Type:
    if word in bound:
        return bound[word]
    if word in VARIABLES:
        return draw(st.sampled_from(VARIABLES[word]))
    if word.startswith("array<"):
        return array(bound.get(word[6:-1], BIGINT))
    return next((t for t in TYPES if t.name == word), BIGINT)


def train_of(rows: list[tuple[Any, ...]], context: Context, selected: list[int] | None = None) -> Train:
    """A train of these rows; with `selected`, it stands on more rows and looks at these."""
    columns = [to_vector([row[i] for row in rows], f.type, context) for i, f in enumerate(SCHEMA)]
    train = Train(columns, np.arange(len(rows), dtype=np.int64))
    return train if selected is None else train.take(np.array(selected, np.int64))


def same(a: Any, b: Any) -> bool:
    """Equal values of one type, NaN equal to NaN."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float) and a != a:
        return b != b
    return type(a) is type(b) and a == b
