"""A batch's rows, planned as one with their sources.

What Spark gives `foreachBatch` are rows that it has made already: what follows begins with them. No column that
it does not read is spared, and an aggregation does not become part of the loop that scans. The plan behind them is
still there, with the batch's own files in the place of the sources. Said to be at rest, it can be part of another
one; the offsets are the same, and so are the rows and their places.

That is done for files. Of other sources the rows are made one by one whatever the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

QUERY_ID: Final = "sql.streaming.queryId"
"""The property of the thread that a streaming query runs on."""
COUNT: Final = "numOutputRows"
"""Spark's name for how many rows left a node."""


class OnePlan:
    """The rows of one batch as part of the plan that reads them."""

    def __init__(self, rows: DataFrame) -> None:
        self.rows = rows
        self._stream: Any = None
        found = _execution(rows)
        resting = None if found is None else _at_rest(found.logical(), rows)
        if resting is not None:
            self._stream = found
            self.rows = resting

    def ran(self, work: DataFrame) -> None:
        """Tells the streaming query how many rows were read for it in `work`, so that its own progress says so."""
        if self._stream is None:
            return
        counted: dict[str, int] = {}
        for files, count in _scans(work._jdf.queryExecution().executedPlan()):
            counted[files] = max(int(count.value()), counted.get(files, 0))
        for files, count in _scans(self._stream.executedPlan()):
            count.add(counted.get(files, 0))


def _execution(rows: DataFrame) -> Any:
    """The execution of the batch that `rows` are; None where they are not what Spark gave this thread for one."""
    spark = rows.sparkSession
    number = spark.sparkContext.getLocalProperty(QUERY_ID)
    if not number or rows._jdf.queryExecution().analyzed().nodeName() != "LogicalRDD":
        return None
    jvm: Any = spark._jvm
    running = rows._jdf.sparkSession().sharedState().activeStreamingQueries().get(jvm.java.util.UUID.fromString(number))
    return None if running is None else running.lastExecution()


def leaves(plan: Any) -> Iterator[Any]:
    """The leaves of a plan, logical or physical."""
    found = plan.collectLeaves()
    return (found.apply(i) for i in range(found.size()))


def _at_rest(plan: Any, rows: DataFrame) -> DataFrame | None:
    """The frame of a batch's plan whose leaves are files, as a plan that does not stream; None where there are other
    leaves."""
    jvm: Any = rows.sparkSession._jvm
    plan = plan.child() if plan.nodeName() == "WriteToMicroBatchDataSourceV1" else plan
    for leaf in list(leaves(plan)):
        still = _still(leaf)
        if still is None:
            return None
        plan = plan.transformDown(jvm.scala.collection.immutable.Map.Map1(leaf, still))
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(rows._jdf.sparkSession(), plan)
    return DataFrame(made, rows.sparkSession)


def _still(leaf: Any) -> Any:
    """The leaf as one that does not stream; None where there is no such."""
    match leaf.getClass().getSimpleName():
        case "LogicalRelation" if leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
            return leaf.copy(leaf.relation(), leaf.output(), leaf.catalogTable(), False, leaf.stream())
        case "LocalRelation":
            return leaf.copy(leaf.output(), leaf.data(), False, leaf.stream())
    return None


def _scans(plan: Any) -> Iterator[tuple[str, Any]]:
    """Of each scan of files in a physical plan: what it reads, and the count of its rows."""
    for leaf in leaves(plan):
        if leaf.getClass().getSimpleName() == "FileSourceScanExec":
            yield str(leaf.relation().location().rootPaths().toString()), leaf.metrics().get(COUNT).get()
