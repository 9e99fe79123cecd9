"""Windows: from brackets to specifications (Babu 2.1.2, Tatbul 2.1.3), in microseconds or in the units of the attribute
they run over."""

from __future__ import annotations

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import Name, Quantity, WindowClause
from penstock.errors import unknown
from penstock.plan.node import Node
from penstock.plan.schema import Schema
from penstock.plan.types import Type
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows, WindowSpec

_DAY_US = 86_400_000_000


def window_spec(clause: WindowClause, stream: Node, problems: Problems) -> WindowSpec | None:
    """The window that `clause` asks for over `stream`; None where it is wrong, which has been reported."""
    if not _consistent(clause, problems):
        return None
    by = [column_named(name, stream.schema, problems) for name in clause.by]
    on = column_named(clause.on, stream.schema, problems) if clause.on else None
    if any(b is None for b in by) or (clause.on and on is None):
        return None
    if clause.word == "rows":
        return _rows(clause, tuple(b for b in by if b is not None), problems)
    return _range(clause, stream.schema, on, problems)


def column_named(name: Name, schema: Schema, problems: Problems) -> str | None:
    """The column of `schema` that `name` means."""
    alike = [f.name for f in schema if f.name == name.text] or [
        f.name for f in schema if f.name.lower() == name.text.lower()
    ]
    if not alike:
        problems.add(unknown("column", name.text, schema.names, name.span))
        return None
    return alike[0]


def _consistent(clause: WindowClause, problems: Problems) -> bool:
    before = len(problems.said)
    if clause.by and clause.word != "rows":
        problems.report("Partition By belongs to Rows", clause.span, help="[Partition By a Rows 10]")
    if clause.on and clause.word != "range":
        problems.report("On belongs to Range", clause.on.span, help="[Range 100 On a]")
    if clause.slide and clause.size is None:
        problems.report(
            "only a window with a size can slide", clause.slide.span, help="[Range 10 Minutes Slide 1 Minute]"
        )
    if clause.origin and not clause.slide:
        problems.report(
            "Origin belongs to Slide", clause.origin.span, help="[Range 10 Minutes Slide 1 Minute Origin 0]"
        )
    for quantity in (clause.size, clause.slide):
        _check_positive(clause, quantity, quantity is clause.slide, problems)
    return len(problems.said) == before


def _check_positive(clause: WindowClause, quantity: Quantity | None, slide: bool, problems: Problems) -> None:
    if quantity is None:
        return
    may_be_zero = clause.word == "range" and not clause.slide
    if quantity.value < 0 or (quantity.value == 0 and not may_be_zero):
        what = "slide" if slide else "size"
        problems.report(
            f"a window's {what} of {quantity.value:g} is too small",
            quantity.span,
            help="at least one row" if clause.word == "rows" else "more than 0",
        )


def _rows(clause: WindowClause, by: tuple[str, ...], problems: Problems) -> WindowSpec:
    size = int(clause.size.value) if clause.size else None
    if size is None or clause.slide is None:
        return Rows(size, by)
    return SlideRows(size, int(clause.slide.value), int(clause.origin.value) if clause.origin else 0, by)


def _range(clause: WindowClause, schema: Schema, on: str | None, problems: Problems) -> WindowSpec | None:
    if clause.word == "now":
        return Range(0)
    t = schema.type_of(on) if on else None
    if on is not None and t is not None and not t.ordered_numeric:
        assert clause.on is not None
        problems.report(
            f"a window cannot run over '{on}', a {t}", clause.on.span, help="it needs a number, a timestamp or a date"
        )
        return None
    quantities = [q for q in (clause.size, clause.slide, clause.origin) if q is not None]
    measures = [_measure(q, t, problems) for q in quantities]
    if any(m is None for m in measures):
        return None
    given = dict(zip((q.span for q in quantities), (m for m in measures if m is not None), strict=True))
    size = given[clause.size.span] if clause.size else None
    if clause.slide is None or size is None:
        return Range(size, on)
    return SlideRange(size, given[clause.slide.span], given[clause.origin.span] if clause.origin else 0, on)


def _measure(quantity: Quantity, t: Type | None, problems: Problems) -> int | float | None:
    """`quantity` in microseconds, or in the units of an attribute of type `t`; None where it does not measure that."""
    value = quantity.value
    if t is not None and t.numeric and quantity.duration:
        problems.report(f"a duration does not measure {t}", quantity.span, help="give a number without a unit of time")
        return None
    if t is not None and t.name == "date" and quantity.duration:
        value = value / _DAY_US if value % _DAY_US else int(value) // _DAY_US
    whole = t is None or t.name not in ("double", "decimal")
    if whole and not isinstance(value, int):
        unit = (
            "days" if t is not None and t.name == "date" else "microseconds" if t is None or not t.numeric else "units"
        )
        problems.report(
            f"{value:g} is no whole number of {unit}",
            quantity.span,
            help="a number without a unit of time is microseconds" if t is None else None,
        )
        return None
    return value
