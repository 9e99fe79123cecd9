"""Early drops: the tuples of windows that lanes are dropping go at the gate, group by group (Tatbul 4.7).

A lane decides for its groups, and says after each batch of rows which windows it is dropping (`Shut`). The gate works
out who a row's group is as `penstock.operators.drops.window_groups` does, and looks it up. The tables come as text that
Spark takes apart once: a literal for each group would cost a call into the JVM each, and the code that is generated
does not have what they hold, so one compilation serves all batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.operators.drops.window_groups import NULL, SEEDS
from penstock.plan.drops import Shut, WindowDrop
from penstock.plan.node import Node
from penstock.plan.types import Type
from penstock.spark.entries import Entry
from penstock.spark.lanes.wire import column_name

_TOLD: Final = ("boolean", "int", "bigint", "date", "timestamp", "double", "string")
"""Types of keys by which the gate can tell groups."""
_LOW: Final = (1 << 32) - 1
_ROOM: Final = 4
"""Places in a table for each group: of groups that share one, the first is told of, the lane sees to the others."""
_LEAST: Final = 16


def once(batches: Iterable[Shut]) -> tuple[Shut, ...]:
    """The batches of groups that one lane alone drops.

    >>> once([Shut(1, 0, 5), Shut(2, 0, 5), Shut(1, 5, 9)])
    (Shut(group=2, tau=0, until=5),)
    """
    listed = list(batches)
    seen = Counter(b.group for b in listed)
    return tuple(b for b in listed if seen[b.group] == 1)


def told_at_gate(node: Node, drop: WindowDrop) -> bool:
    """True where the gate can work out the groups of a drop behind `node`."""
    return all(node.schema.type_of(key).name in _TOLD for key in drop.keys)


def shut(drop: WindowDrop, entry: Entry) -> Column:
    """The rows of `entry` whose group's tuples go at their instant."""
    schema, leaf = entry.leaf.schema, entry.leaf.name
    group = group_column([(column_name(leaf, key), schema.type_of(key)) for key in drop.keys])
    rows = _table(drop.shut)
    place = group.bitwiseAND(F.lit(len(rows) - 1)).cast("int")
    names, taus, untils = (_array([row[i] for row in rows])[place] for i in range(3))
    return (names == group) & (F.col("_ts") >= taus) & (F.col("_ts") < untils)


def group_column(keys: Sequence[tuple[str, Type]]) -> Column:
    """The number of a row's group, by its columns `keys`."""
    high, low = (F.hash(F.lit(seed).cast("bigint"), *_words(keys, seed)).cast("bigint") for seed in SEEDS)
    return F.shiftleft(high, 32).bitwiseOR(low.bitwiseAND(F.lit(_LOW)))


def _words(keys: Sequence[tuple[str, Type]], seed: int) -> Iterable[Column]:
    """For each key its 64 bits, and what stands for NULL; what is NULL is not hashed."""
    for name, t in keys:
        column = F.col(f"`{name}`")
        yield _word(column, t, seed)
        yield F.when(column.isNull(), F.lit(NULL))


def _word(column: Column, t: Type, seed: int) -> Column:
    if t.name == "double":
        return column
    if t.name == "date":
        return F.unix_date(column).cast("bigint")
    if t.name == "string":
        hashed = F.hash(F.lit(seed).cast("bigint"), column).cast("bigint")
        return F.when(column.isNotNull(), hashed.bitwiseAND(F.lit(_LOW)))
    return column.cast("bigint")


def _table(batches: Sequence[Shut]) -> list[tuple[int, int, int]]:
    """What is known of the group at each place, which is its number's last bits; (0, 0, 0) for none."""
    size = max(_LEAST, 1 << (_ROOM * len(batches) - 1).bit_length())
    rows = [(0, 0, 0)] * size
    for batch in reversed(batches):
        rows[batch.group & (size - 1)] = batch
    return rows


def _array(values: Iterable[int]) -> Column:
    return F.split(F.lit(",".join(map(str, values))), ",").cast("array<bigint>")
