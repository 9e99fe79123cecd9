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
_DRAW: Final = "_penstock_draw"
_RANK: Final = "_penstock_rank"
_SIZE: Final = "_penstock_size"


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
            return F.col(_DRAW).asc()
        column = F.col(f"`{self.column}`")
        return column.desc_nulls_last() if self.descending else column.asc_nulls_last()


def checked(rows: DataFrame, keep: Keep, key: str | None) -> None:
    """Refuses columns that the rows do not have."""
    wanted = [c for c in (keep.column, key) if c is not None]
    mistakes = [unknown("column", c, rows.columns) for c in wanted if c not in rows.columns]
    if mistakes:
        raise PenstockError(*mistakes)


def draw(rows: DataFrame, batch: int, seed: int) -> DataFrame:
    """`rows` with a number in [0, 1) for each, the same whenever the batch runs again over the same partitions."""
    place = F.xxhash64(F.monotonically_increasing_id(), F.lit(batch), F.lit(seed))
    return rows.withColumn(_DRAW, place.bitwiseAND(F.lit((1 << 52) - 1)) / float(1 << 52))


def thinned(rows: DataFrame, share: float, count: int, keep: Keep, key: str | None) -> DataFrame:
    """The `share` of drawn `rows` (there are `count`) that is kept, with how many each stands for in `_weight`."""
    if share >= 1:
        return rows.drop(_DRAW).withColumn(WEIGHT, F.lit(1.0))
    if key is not None:
        return _even(rows, share * count, keep, key)
    if keep.column is None:
        return rows.where(F.col(_DRAW) < share).drop(_DRAW).withColumn(WEIGHT, F.lit(1 / max(share, 1e-12)))
    return _best(rows, share * count, keep).drop(_DRAW).withColumn(WEIGHT, F.lit(1.0))


def _best(rows: DataFrame, wanted: float, keep: Keep) -> DataFrame:
    """The rows of the highest order; of those at the border, which are all alike, at random. A row without a value is
    worth least."""
    column = F.col(f"`{keep.column}`")
    counts = rows.groupBy(column.alias("v")).count().orderBy(keep_order("v", keep)).collect()
    before = 0
    for value, n in ((r["v"], r["count"]) for r in counts):
        if before + n >= wanted:
            return rows.where(_ahead(column, value, keep) | (column.eqNullSafe(F.lit(value)) & (
                F.col(_DRAW) < (wanted - before) / n)))  # fmt: skip
        before += n
    return rows


def keep_order(name: str, keep: Keep) -> Column:
    """The order of values, best first."""
    return F.col(name).desc_nulls_last() if keep.descending else F.col(name).asc_nulls_last()


def _ahead(column: Column, value: object, keep: Keep) -> Column:
    if value is None:
        return column.isNotNull()
    return F.coalesce(column > F.lit(value) if keep.descending else column < F.lit(value), F.lit(False))


def _even(rows: DataFrame, wanted: float, keep: Keep, key: str) -> DataFrame:
    """At most so many rows of each key that all together are `wanted`: what light keys leave is for the heavy ones."""
    sizes = [int(r["count"]) for r in rows.groupBy(F.col(f"`{key}`")).count().collect()]
    quota = level(sizes, wanted)
    by_key = Window.partitionBy(F.col(f"`{key}`"))
    ranked = rows.withColumns({
        _RANK: F.row_number().over(by_key.orderBy(keep.order, F.col(_DRAW))), _SIZE: F.count("*").over(by_key),
    })  # fmt: skip
    whole, part = int(quota), quota - int(quota)
    stays = (F.col(_RANK) <= whole) | ((F.col(_RANK) == whole + 1) & (F.col(_DRAW) < part))
    alike = F.lit(1.0) if keep.column is not None else F.greatest(F.lit(1.0), F.col(_SIZE) / max(quota, 1e-12))
    return ranked.where(stays).withColumn(WEIGHT, alike).drop(_DRAW, _RANK, _SIZE)


def level(sizes: Sequence[int], wanted: float) -> float:
    """How many rows each key may have so that all have `wanted` together.

    >>> level([10, 2, 100], 22), level([5, 5], 100)
    (10.0, 5.0)
    """
    left, ordered = wanted, sorted(sizes)
    for i, size in enumerate(ordered):
        fair = left / (len(ordered) - i)
        if size > fair:
            return fair
        left -= size
    return float(ordered[-1]) if ordered else 0.0
