"""How a guarded batch is thinned, natively: at random, by a value, or evenly over keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock.errors import Diagnostic, PenstockError, unknown

WEIGHT: Final = "_weight"
_ORDERS: Final = ("asc", "desc")
DRAW: Final = "_penstock_draw"
_RANK: Final = "_penstock_rank"
_SIZE: Final = "_penstock_size"
_QUOTA: Final = "_penstock_quota"


@dataclass(frozen=True, slots=True)
class Keep:
    """What is kept first: the rows with the largest (`desc`) or smallest `column`; None: rows at random."""

    column: str | None = None
    descending: bool = True

    @classmethod
    def of(cls, text: str | None) -> Keep:
        """What a text such as "priority desc" says.

        >>> Keep.of("age asc")
        Keep(column='age', descending=False)
        """
        words = [] if text is None else text.split()
        if not words or words == ["uniform"]:
            return cls()
        if len(words) > 2 or (len(words) == 2 and words[1].lower() not in _ORDERS):
            help_ = "a column and asc or desc: 'priority desc'"
            raise PenstockError(Diagnostic(f"keep = {text!r} is no order", help=help_))
        return cls(words[0], len(words) < 2 or words[1].lower() == "desc")

    @property
    def order(self) -> Column:
        """The rows that are kept longest first; of equal ones any, but always the same."""
        if self.column is None:
            return F.col(DRAW).asc()
        column = F.col(f"`{self.column}`")
        return column.desc_nulls_last() if self.descending else column.asc_nulls_last()


def checked(rows: DataFrame, keep: Keep, key: str | None) -> None:
    """Refuses columns that the rows do not have."""
    wanted = [c for c in (keep.column, key) if c is not None]
    mistakes = [unknown("column", c, rows.columns) for c in wanted if c not in rows.columns]
    if mistakes:
        raise PenstockError(*mistakes)


def draw(rows: DataFrame, batch: int, seed: int) -> DataFrame:
    """`rows` with a number in [0, 1) for each, the same whenever the batch runs again over the same partitions. The
    batch is named by a text: a number would stand in the code that Spark compiles, new for every batch."""
    return rows.withColumn(DRAW, uniform(F.monotonically_increasing_id(), F.lit(f"{seed}/{batch}")))


def uniform(*columns: Column) -> Column:
    """A number in [0, 1) that depends on nothing but these columns."""
    return F.xxhash64(*columns).bitwiseAND(F.lit((1 << 52) - 1)) / float(1 << 52)


def thinned(rows: DataFrame, share: float, count: int, keep: Keep, key: str | None) -> DataFrame:
    """The `share` of drawn `rows` (there are `count`) that is kept, with how many each stands for in `_weight`."""
    if share >= 1:
        return rows.drop(DRAW).withColumn(WEIGHT, F.lit(1.0))
    if key is not None:
        return _even(rows, share * count, keep, key)
    if keep.column is None:
        return rows.where(F.col(DRAW) < share).drop(DRAW).withColumn(WEIGHT, F.lit(1 / max(share, 1e-12)))
    return _best(rows, share * count, keep).drop(DRAW).withColumn(WEIGHT, F.lit(1.0))


def _best(rows: DataFrame, wanted: float, keep: Keep) -> DataFrame:
    """The rows of the highest order; of those at the border, which are all alike, at random. A row without a value is
    worth least."""
    column = F.col(f"`{keep.column}`")
    first = Window.orderBy(keep_order("v", keep)).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = rows.groupBy(column.alias("v")).count().withColumn("upto", F.sum("count").over(first))
    border = counted.where(F.col("upto") >= wanted).orderBy("upto").limit(1).collect()
    if not border:
        return rows
    value, n, upto = border[0]
    part = 1 - (upto - wanted) / n
    return rows.where(_ahead(column, value, keep) | (column.eqNullSafe(F.lit(value)) & (F.col(DRAW) < part)))


def keep_order(name: str, keep: Keep) -> Column:
    """The order of values, best first."""
    return F.col(name).desc_nulls_last() if keep.descending else F.col(name).asc_nulls_last()


def _ahead(column: Column, value: object, keep: Keep) -> Column:
    if value is None:
        return column.isNotNull()
    return F.coalesce(column > F.lit(value) if keep.descending else column < F.lit(value), F.lit(False))


def _even(rows: DataFrame, wanted: float, keep: Keep, key: str) -> DataFrame:
    """At most so many rows of each key that all together are `wanted`: what light keys leave is for the heavy ones.
    Where that is no whole number, some keys keep one more. A row stands for as many as its key has for each that it
    keeps."""
    each = rows.groupBy(F.col(f"`{key}`")).agg(F.count("*").alias("size"))
    sizes = [(int(r["size"]), int(r["keys"])) for r in each.groupBy("size").agg(F.count("*").alias("keys")).collect()]
    quota = level(sizes, wanted)
    by_key = Window.partitionBy(F.col(f"`{key}`"))
    whole, part = int(quota), quota - int(quota)
    ranked = rows.withColumns({
        _RANK: F.row_number().over(by_key.orderBy(keep.order, F.col(DRAW))), _SIZE: F.count("*").over(by_key),
        _QUOTA: whole + (uniform(F.min(DRAW).over(by_key)) < part).cast("int"),
    })  # fmt: skip
    stands_for = F.col(_SIZE) / (F.col(_QUOTA) if whole else F.lit(max(part, 1e-12)))
    weight = F.lit(1.0) if keep.column is not None else F.greatest(F.lit(1.0), stands_for)
    return ranked.where(F.col(_RANK) <= F.col(_QUOTA)).withColumn(WEIGHT, weight).drop(DRAW, _RANK, _SIZE, _QUOTA)


def level(sizes: Sequence[tuple[int, int]], wanted: float) -> float:
    """How many rows each key may have so that all have `wanted` together; `sizes` says of how many keys there are so
    many rows.

    >>> level([(10, 1), (2, 1), (100, 1)], 22), level([(5, 2)], 100)
    (10.0, 5.0)
    """
    left, keys = wanted, sum(n for _, n in sizes)
    for size, n in sorted(sizes):
        fair = left / keys
        if size > fair:
            return fair
        left, keys = left - size * n, keys - n
    return float(max((size for size, _ in sizes), default=0))
