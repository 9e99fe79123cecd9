"""Panes in Catalyst: rows as they leave the gate become partial results (see `penstock.spark.panes`).

Exactness: integers and decimals are summed in two halves that 64 bits hold; sums of doubles and moments are what
Catalyst makes of them, within the law's 1e-9, and a row so large that squares or sums could overflow is a pane of its
own. Late rows are stamped with the progress, or counted and left out, as the stream says. Malformed rows pass as they
are: what is kept of them is a grouping key, which is NULL in all other rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.plan.expressions import Column as Name
from penstock.plan.expressions import substitute
from penstock.plan.types import Type
from penstock.spark.catalyst import catalyst
from penstock.spark.lanes.wire import DEAD, LETTER, column_name
from penstock.spark.panes import Panes, Part

LARGE: Final = 1e150
"""The square of a larger number may overflow, and so may sums of them."""
LOW: Final = (1 << 32) - 1


def paned(rows: DataFrame, made: Sequence[Panes], progress: Mapping[str, int], dropping: frozenset[str],
          alone: bool) -> DataFrame:  # fmt: skip
    """`rows`, which bear `_seq`, with panes in the place of those that `made` stands for; `dropping` are the streams
    that drop what is late. `alone` says that no other rows come."""
    parts = [_aggregated(rows, p, progress, dropping, dead=alone and p is made[0]) for p in made]
    if not alone:
        sources = [p.source.number for p in made]
        parts.append(rows.where(~F.col("_entry").isin(sources)))
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


def _aggregated(rows: DataFrame, panes: Panes, progress: Mapping[str, int], dropping: frozenset[str],
                dead: bool) -> DataFrame:  # fmt: skip
    """The panes of one entry's rows; with `dead`, malformed rows pass along."""
    source = panes.source
    dead = dead and LETTER in rows.columns
    mine = F.col("_entry") == source.number
    now = _literal(progress[source.leaf.name])
    late, drops = F.col("_ts") < now, source.leaf.name in dropping
    stamp = F.col("_ts") if drops else F.greatest(F.col("_ts"), now)
    rows = rows.where((F.col("_entry") == DEAD) | mine if dead else mine)
    rows = rows.withColumns({"_late": late, "_stamp": stamp})
    conditions = [*([mine] if dead else []), *([~late] if drops else []), *_passed(panes)]
    return _grouped(rows, panes, reduce(lambda a, b: a & b, conditions) if conditions else None, dead, now)


def _grouped(rows: DataFrame, panes: Panes, counted: Column | None, dead: bool, now: Column) -> DataFrame:
    """`counted` are the rows that count (None: all); all others together are one void pane, of which no result is
    looked at. A pane is stamped with its beginning, or with the progress `now` where that lies within."""
    if counted is not None:
        rows = rows.withColumn("_counted", counted)
        counted = F.col("_counted")
    keys = [_if(counted, _column(panes, k)).alias(_out(panes, f"k{i}")) for i, k in enumerate(panes.keys)]
    pane = _if(counted, _start(panes)).alias("_pane")
    entry = F.when(F.col("_entry") == DEAD, DEAD).otherwise(panes.entry.number) if dead else F.lit(panes.entry.number)
    own = _own_pane(panes, counted)
    letter = [F.col(LETTER)] if dead else []
    grouping = [entry.alias("_entry"), F.col("_lane"), pane, *keys, *([] if own is None else [own]), *letter]
    results = [c for i, part in enumerate(panes.parts) for c in _results(panes, i, part)]
    grouped = rows.groupBy(*grouping).agg(
        F.min("_arrival").alias("_arrival"),
        *results,
        F.count(F.lit(1)).alias(_out(panes, "rows")),
        F.max("_stamp").alias(_out(panes, "last")),
        F.sum(F.col("_late").cast("bigint")).alias(_out(panes, "late")),
    )
    void = F.col("_pane").isNull().cast("bigint").alias(_out(panes, "void"))
    kept = [f"`{c}`" for c in grouped.columns if c not in ("_pane", "_own")]
    stamp = F.greatest(F.col("_pane"), now).alias("_ts")
    return grouped.select(*kept, void, stamp, F.lit(0).cast("bigint").alias("_seq"))


def _passed(panes: Panes) -> Iterator[Column]:
    names = {f.name: Name(column_name(panes.source.leaf.name, f.name), f.type) for f in panes.source.leaf.schema}
    for predicate in panes.condition:
        said = catalyst(substitute(predicate, names))
        assert said is not None
        yield F.coalesce(said, F.lit(False))


def _literal(number: int) -> Column:
    """A number that is not part of the generated code's text: one compilation serves all batches."""
    return F.lit([number, number])[F.when(F.col("_entry") < 0, 0).otherwise(1)]


def _if(counted: Column | None, value: Column) -> Column:
    return value if counted is None else F.when(counted, value)


def _out(panes: Panes, name: str) -> str:
    return column_name(panes.entry.leaf.name, name)


def _column(panes: Panes, column: Name) -> Column:
    return F.col(f"`{column_name(panes.source.leaf.name, column.name)}`")


def _start(panes: Panes) -> Column:
    return F.col("_stamp") - F.pmod(F.col("_stamp") - F.lit(panes.origin), F.lit(panes.width))


def _own_pane(panes: Panes, counted: Column | None) -> Column | None:
    """For a row that must not be added to others in doubles, its place; NULL for others."""
    doubles = [p.column for p in panes.parts if p.column is not None and p.types[1:] and p.types[1].name == "double"]
    wide = [c for c in dict.fromkeys(doubles) if c.type.name == "double"]
    if not wide:
        return None
    large = reduce(lambda a, b: a | b, [_large(_column(panes, c)) for c in wide])
    return F.when(large if counted is None else large & counted, F.col("_seq")).alias("_own")


def _large(value: Column) -> Column:
    return (F.abs(value) > LARGE) & ~F.isnan(value)


def _results(panes: Panes, number: int, part: Part) -> Iterator[Column]:
    for j, column in enumerate(_partial(panes, part)):
        yield column.alias(_out(panes, f"p{number}.{j}"))


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
