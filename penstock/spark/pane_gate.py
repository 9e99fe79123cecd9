"""Panes in Catalyst: rows as they leave the gate become partial results (see `penstock.spark.panes`).

Exactness: integers and decimals are summed in two halves that 64 bits hold; sums of doubles and moments are what
Catalyst makes of them, within the law's 1e-9, and a row so large that squares or sums could overflow is a pane of its
own. Late rows are stamped with the progress, or counted and left out, as the stream says. Malformed rows pass as they
are: what is kept of them is a text to group by, which is empty in all other rows.

Speed: what is grouped by are numbers and texts that are not NULL in ordinary rows, so that Catalyst's fast hash map
takes them; all that follows from the keys (the lane, the entry) is computed once a pane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.plan.expressions import Column as Name
from penstock.plan.expressions import substitute
from penstock.plan.types import Type
from penstock.plan.windows import BEGIN
from penstock.spark.catalyst import catalyst, named
from penstock.spark.gate import lane_of
from penstock.spark.lanes.wire import DEAD, LETTER, column_name
from penstock.spark.panes import Panes, Part
from penstock.spark.stages import Staged

LARGE: Final = 1e150
"""The square of a larger number may overflow, and so may sums of them."""
LOW: Final = (1 << 32) - 1
LETTER_FIELDS: Final = ("_stream", "_reason", "_raw", "_source", "_offset")
NUMBERS: Final = ("_source", "_offset")
NONE: Final = "-"
"""What stands for NULL where a malformed row is put in one text."""


class PaneGate:
    """Makes panes of the rows of a staged network, batch after batch; what Spark needs for it is made once."""

    def __init__(self, staged: Staged) -> None:
        self._staged = staged
        self._dropping = {s.name for s in staged.network.streams if s.late == "drop"}
        self._makers: dict[tuple[int, bool], _Maker] = {}

    def __call__(self, rows: DataFrame, made: Sequence[Panes], progress: Mapping[str, int], alone: bool) -> DataFrame:
        """`rows`, which bear `_seq`, with panes in the place of those that `made` stands for. `alone` says that no
        other rows come."""
        parts = []
        for panes in made:
            maker = self._maker(panes, dead=alone and panes is made[0] and LETTER in rows.columns)
            parts.append(maker(rows, progress[panes.source.leaf.name], alone and len(made) == 1))
        if not alone:
            sources = [p.source.number for p in made]
            parts.append(rows.where(~F.col("_entry").isin(sources)))
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)

    def _maker(self, panes: Panes, dead: bool) -> _Maker:
        key = panes.entry.number, dead
        if key not in self._makers:
            self._makers[key] = _Maker(panes, self._staged, panes.source.leaf.name in self._dropping, dead)
        return self._makers[key]


class _Maker:
    """Makes one kind of panes, of a stream that `drops` late rows or keeps them; with `dead`, malformed rows pass
    along.

    The rows that count (all, where there is no condition) are grouped by their panes. All others together are one void
    pane, of which no result is looked at. A pane is stamped with its beginning, or with the progress where that lies
    within.
    """

    def __init__(self, panes: Panes, staged: Staged, drops: bool, dead: bool) -> None:
        self._panes, self._drops, self._dead = panes, drops, dead
        mine = F.col("_entry") == panes.source.number
        self._mine = (F.col("_entry") == DEAD) | mine if dead else mine
        self._passed = [*([mine] if dead else []), *_passed(panes)]
        counted = F.col("_counted") if self._passed or drops else None
        keys = [_if(counted, _column(panes, k)).alias(self._out(f"k{i}")) for i, k in enumerate(panes.keys)]
        odd = list(self._odd(counted))
        lane = self._lane(staged)
        apart = [F.col("_lane")] if lane is None else []
        self._keys = [_if(counted, self._start()).alias("_pane"), *keys, *odd, *apart]
        self._results = [
            F.min("_arrival").alias("_arrival"),
            *(c for i, part in enumerate(panes.parts) for c in self._parts(i, part)),
            F.count(F.lit(1)).alias(self._out("rows")),
            F.max("_stamp").alias(self._out("last")),
            F.sum(F.col("_late").cast("bigint")).alias(self._out("late")),
        ]
        self._heads = self._headed(lane)

    def __call__(self, rows: DataFrame, progress: int, alone: bool) -> DataFrame:
        """The panes of `rows`, where time has come as far as `progress`; `alone`: no other rows are among them."""
        now = _literal(progress, F.col("_ts"))
        late = F.col("_ts") < now
        seen = {"_late": late, "_stamp": F.col("_ts") if self._drops else F.greatest(F.col("_ts"), now)}
        conditions = [*self._passed, *([~late] if self._drops else [])]
        if conditions:
            seen["_counted"] = reduce(lambda a, b: a & b, conditions)
        rows = rows if alone else rows.where(self._mine)
        grouped = rows.withColumns(seen).groupBy(*self._keys).agg(*self._results)
        stamp = F.greatest(F.col("_pane"), _literal(progress, F.col("_pane")))
        return grouped.select(*self._heads, stamp.alias("_ts"))

    def _headed(self, lane: Column | None) -> list[Column]:
        """The columns that go to the lanes, all but the stamp."""
        number, where = F.lit(self._panes.entry.number), F.col("_lane") if lane is None else lane
        heads = [number.alias("_entry"), where.alias("_lane")]
        if self._dead:
            parts = F.split(F.col("_odd"), " ")
            dead = F.size(parts) == len(LETTER_FIELDS)
            letter = F.struct(*(_unpacked(parts[i], n).alias(n) for i, n in enumerate(LETTER_FIELDS)))
            cases = {"_entry": (F.lit(DEAD), number), "_lane": (F.lit(0), where), LETTER: (letter, F.lit(None))}
            heads = [F.when(dead, a).otherwise(b).alias(n) for n, (a, b) in cases.items()]
        names = ["_arrival", *(self._out(f.name) for f in self._panes.entry.leaf.schema if f.name != "void")]
        void = F.col("_pane").isNull().cast("bigint").alias(self._out("void"))
        return [*heads, *(named(n) for n in names), void, F.lit(0).cast("bigint").alias("_seq")]

    def _lane(self, staged: Staged) -> Column | None:
        """The lane of a pane, where that follows from its keys."""
        route = [e for e in self._panes.entry.inlet.route if isinstance(e, Name)]
        if not set(route) <= set(self._panes.keys):
            return None
        keys = [Name(self._out(f"k{self._panes.keys.index(c)}"), c.type) for c in route]
        return lane_of(replace(self._panes.entry, inlet=replace(self._panes.entry.inlet, route=tuple(keys))), staged)

    def _odd(self, counted: Column | None) -> Iterator[Column]:
        """The key that parts odd rows from others, where there may be such: of a large number its place, of a malformed
        row what is kept of it; an empty text for ordinary rows."""
        found = [(F.col("_entry") == DEAD, F.concat_ws(" ", *map(_packed, LETTER_FIELDS)))] if self._dead else []
        if (large := self._large()) is not None:
            found.append((large if counted is None else large & counted, F.col("_seq").cast("string")))
        if found:
            cases = reduce(lambda rest, case: F.when(case[0], case[1]).otherwise(rest), reversed(found), F.lit(""))
            yield cases.alias("_odd")

    def _large(self) -> Column | None:
        """True for a row that must not be added to others in doubles."""
        added = [p.column for p in self._panes.parts if p.types[1:] and p.types[1].name == "double"]
        wide = [_column(self._panes, c) for c in dict.fromkeys(added) if c is not None and c.type.name == "double"]
        large = [(F.abs(value) > LARGE) & ~F.isnan(value) for value in wide]
        return reduce(lambda a, b: a | b, large) if large else None

    def _start(self) -> Column:
        return F.col("_stamp") - F.pmod(F.col("_stamp") - F.lit(self._panes.origin), F.lit(self._panes.width))

    def _out(self, name: str) -> str:
        return column_name(self._panes.entry.leaf.name, name)

    def _parts(self, number: int, part: Part) -> Iterator[Column]:
        for j, column in enumerate(_partial(self._panes, part)):
            yield column.alias(self._out(f"p{number}.{j}"))


def _packed(field: str) -> Column:
    """A field of a malformed row as a text without blanks."""
    kept = F.col(f"{LETTER}.{field}")
    return F.coalesce(kept.cast("string") if field in NUMBERS else F.base64(kept.cast("binary")), F.lit(NONE))


def _unpacked(text: Column, field: str) -> Column:
    """The inverse of `_packed`."""
    kept = F.nullif(text, F.lit(NONE))
    return kept.cast("bigint") if field in NUMBERS else F.unbase64(kept).cast("string")


def _passed(panes: Panes) -> Iterator[Column]:
    names = {f.name: Name(column_name(panes.source.leaf.name, f.name), f.type) for f in panes.source.leaf.schema}
    for predicate in panes.condition:
        said = catalyst(substitute(predicate, names))
        assert said is not None
        yield F.coalesce(said, F.lit(False))


def _literal(number: int, any_time: Column) -> Column:
    """A number that is not part of the generated code's text: one compilation serves all batches."""
    return F.lit([number, number])[F.when(any_time < BEGIN, 0).otherwise(1)]


def _if(counted: Column | None, value: Column) -> Column:
    return value if counted is None else F.when(counted, value)


def _column(panes: Panes, column: Name) -> Column:
    return named(column_name(panes.source.leaf.name, column.name))


def _partial(panes: Panes, part: Part) -> list[Column]:
    """The columns of a partial result, as `aggregates.make.partial_types` lists them."""
    if part.column is None:
        return [F.count(F.lit(1))]
    value = _column(panes, part.column)
    match part.kind:
        case "count":
            return [F.count(value)]
        case "min":
            return [F.min(value)]
        case "max":
            return [F.max(value)]
        case "moments":
            double = value.cast("double")
            return [F.count(double), F.sum(double), F.var_pop(double) * F.count(double)]
    if part.types[1].name == "double":
        return [F.count(value), F.sum(value)]
    whole = _unscaled(value, part.column.type)
    return [F.count(value), F.sum(F.shiftright(whole, 32)), F.sum(whole.bitwiseAND(F.lit(LOW)))]


def _unscaled(value: Column, t: Type) -> Column:
    """A number as the 64-bit integer that lanes have it as."""
    if t.name == "decimal":
        return (value * F.lit(10**t.scale).cast(f"decimal({t.scale + 1},0)")).cast("bigint")
    return value.cast("bigint")
