"""Which columns of a join are equal in all of its rows."""

from __future__ import annotations

from penstock.plan.expressions import Call, Column, conjuncts
from penstock.plan.nodes import Join


def equal_to(join: Join, name: str) -> set[str]:
    """The columns of `join` that its conjuncts equate with `name`, itself among them."""
    same = {name}
    pairs = [
        {a.name for a in c.arguments if isinstance(a, Column)}
        for c in conjuncts(join.predicate)
        if isinstance(c, Call) and c.function == "=" and all(isinstance(a, Column) for a in c.arguments)
    ]
    for _ in pairs:
        for pair in pairs:
            same |= pair if pair & same else set()
    return same
