"""The gate: native Spark between the sources and the exchange. It prunes columns, filters, and says which lane a row
goes to.

A row leaves the gate once for each entry of stage 0 that it belongs to, with its timestamp, its place in the total
order and its arrival. The place is (source partition, offset), packed in 63 bits: it names the row whatever the cut of
batches, and drops go by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.plan.expressions import Expression
from penstock.plan.filters import filters_of
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Filter, FilterPipeline
from penstock.plan.nodes.pipeline import own, probes
from penstock.plan.rewrites.prune_columns import needed_columns
from penstock.plan.types import Type
from penstock.plan.windows import BEGIN
from penstock.spark.catalyst import catalyst, named
from penstock.spark.entries import Entry
from penstock.spark.lanes.wire import DEAD, LETTER, column_name
from penstock.spark.stages import Staged

SOURCE_BITS: Final = 22
OFFSET_BITS: Final = 41
MOST_CONDITIONS: Final = 16
"""Readers of a leaf up to which a row is tested for being wanted by any: code for many more is not compiled."""


def gate(staged: Staged, inputs: Mapping[str, DataFrame], ordered: Collection[int] = ()) -> DataFrame:
    """All rows of `inputs` (by stream or relation) on their way to the lanes of stage 0, in column `_lane`. The entries
    `ordered` are not filtered here, but batch by batch in the order of the plan (`penstock.spark.filters`). A
    stream that no query reads any more stays among Spark's sources, and gives no rows."""
    needed = needed_columns(*(q.root for q in staged.network.queries))
    parts = []
    for name, frame in inputs.items():
        mine = [e for e in staged.entries_of(0) if e.leaf.name == name]
        passes = {e.number: admitted(e, staged, e.number not in ordered) for e in mine}
        read = needed.get(mine[0].leaf, frozenset()) if mine else frozenset()
        parts.append(_leaf(frame, mine, staged, read, passes) if mine else _unread(frame))
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


def _unread(frame: DataFrame) -> DataFrame:
    return frame.where(F.lit(False)).select("_ts", "_arrival")


def _leaf(frame: DataFrame, entries: list[Entry], staged: Staged, needed: frozenset[str],
          passes: Mapping[int, Column | None]) -> DataFrame:  # fmt: skip
    """The rows of one leaf that pass; malformed ones (`_bad`) go to lane 0 as rows of no entry, to be counted and set
    aside."""
    leaf = entries[0].leaf
    columns = [
        (_kept(f.name, f.type) if f.name in needed else _null(f.type)).alias(column_name(leaf.name, f.name))
        for f in leaf.schema
    ]
    if "_seq" not in frame.columns and "_source" in frame.columns:
        frame = frame.withColumn("_seq", _place())
    heads = [F.col(name) for name in ("_ts", "_arrival", "_seq", "_row") if name in frame.columns]
    judged = "_bad" in frame.columns
    if judged:
        dead = F.col("_bad").isNotNull()
        columns.append(F.when(dead, _dead_letter(leaf.name)).alias(LETTER))
    if len(entries) == 1:
        return _alone(frame, entries[0], staged, judged, passes).select("_entry", "_lane", *heads, *columns)
    targets = [_target(e.number, lane_of(e, staged), _good(passes[e.number], judged)) for e in entries]
    if judged:
        targets.append(_target(DEAD, F.lit(0), dead))
    rows = frame.select(F.explode(F.array(*targets)).alias("_to"), *heads, *columns).where(F.col("_to").isNotNull())
    return rows.select("_to._entry", "_to._lane", *(named(c) for c in rows.columns if c != "_to"))


def _alone(frame: DataFrame, entry: Entry, staged: Staged, judged: bool,
           conditions: Mapping[int, Column | None]) -> DataFrame:  # fmt: skip
    """The rows of a leaf that one entry has for itself: no row is copied."""
    passes = conditions[entry.number]
    if not judged:
        kept = frame if passes is None else frame.where(passes)
        return kept.withColumns({"_entry": F.lit(entry.number), "_lane": lane_of(entry, staged)})
    dead = F.col("_bad").isNotNull()
    kept = frame if passes is None else frame.where(dead | passes)
    number = F.when(dead, F.lit(DEAD)).otherwise(F.lit(entry.number))
    return kept.withColumns({"_entry": number, "_lane": F.when(dead, F.lit(0)).otherwise(lane_of(entry, staged))})


def _place() -> Column:
    """A row's source and offset in one number. A source that is a hash, of a file's path, keeps enough bits of it."""
    source = F.col("_source").bitwiseAND(F.lit((1 << SOURCE_BITS) - 1))
    offset = F.col("_offset").bitwiseAND(F.lit((1 << OFFSET_BITS) - 1))
    return F.shiftleft(source, OFFSET_BITS).bitwiseOR(offset)


def _good(passes: Column | None, judged: bool) -> Column:
    conditions = [c for c in (passes, F.col("_bad").isNull() if judged else None) if c is not None]
    return reduce(lambda a, b: a & b, conditions, F.lit(True))


def _target(number: int, lane: Column, condition: Column) -> Column:
    return F.when(condition, F.struct(F.lit(number).alias("_entry"), lane.alias("_lane")))


def _dead_letter(leaf: str) -> Column:
    """What is kept of a malformed row, in one column: it is NULL for all others, and costs them one bit."""
    columns = {"_stream": F.lit(leaf), "_reason": F.col("_bad"), "_raw": F.col("_raw")}
    columns |= {"_source": F.col("_source"), "_offset": F.col("_offset")}
    return F.struct(*(c.alias(n) for n, c in columns.items()))


def _kept(name: str, t: Type) -> Column:
    """A column as the wire has it."""
    return F.unix_micros(named(name)) if t.name == "timestamp" else named(name)


def _null(t: Type) -> Column:
    """In the place of a column that no query reads."""
    return F.lit(None).cast("bigint" if t.name in ("timestamp", "interval") else str(t))


def lane_of(entry: Entry, staged: Staged) -> Column:
    """The lane of a row of `entry`: the hash of its route's values gives a key group, groups map to lanes."""
    if not entry.inlet.route:
        return F.lit(entry.home)
    keys = [_hashable(e) for e in entry.inlet.route]
    return F.pmod(F.pmod(F.xxhash64(*keys), F.lit(staged.groups)), F.lit(staged.lanes)).cast("int")


def _hashable(expression: Expression) -> Column:
    """A value so that what joins or groups as equal hashes as equal: numbers of all types as doubles, -0.0 as 0.0."""
    column = catalyst(expression)
    if column is None:
        raise AssertionError(f"{expression} has no form in Catalyst, and stages keep it from being a route")
    if expression.type.numeric:
        return column.cast("double") + F.lit(0.0)
    return column


def admitted(entry: Entry, staged: Staged, filtered: bool = True) -> Column | None:
    """What an entry's rows must be: stamped since its queries were added; where they are `filtered` here, wanted."""
    passes, born = pushed(entry, staged) if filtered else None, F.col("_ts") >= entry.born
    if entry.born == BEGIN:
        return passes
    return born if passes is None else born & passes


def pushed(entry: Entry, staged: Staged) -> Column | None:
    """What an entry's rows must pass before anything else sees them, as far as Catalyst can say it."""
    conditions = list(_conditions(entry.leaf, staged.roots_of(entry.fragment)))
    taken_whole = entry.leaf in staged.roots_of(entry.fragment)
    if taken_whole or not 0 < len(conditions) <= MOST_CONDITIONS or any(c is None for c in conditions):
        return None
    return reduce(lambda a, b: a | b, [c for c in conditions if c is not None])


def _conditions(leaf: Node, roots: Iterable[Node]) -> Iterable[Column | None]:
    """For each operator that reads `leaf`: what of its filters Catalyst can say."""
    for node in walk(*roots):
        if leaf in node.inputs:
            said = [c for f in _filters(node, leaf) if (c := catalyst(f)) is not None]
            yield reduce(lambda a, b: a & b, said) if said else None


def _filters(node: Node, leaf: Node) -> tuple[Expression, ...]:
    """The filters of `node` over the columns of `leaf`, where it is the stream that they filter."""
    if isinstance(node, FilterPipeline) and leaf not in node.members:
        return tuple(own(f) for f in node.filters if not probes(f))
    return filters_of(node) if isinstance(node, Filter) else ()
