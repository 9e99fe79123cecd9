"""A registered relation: loaded rows stand from BEGIN on, rows given later from their timestamp on.

Nothing is kept here: whoever needs the content (a join, Read) keeps what it needs of it.
"""

from __future__ import annotations

from itertools import groupby

from penstock.operators.base import Context, Operator, Row, Snapshot, Stream, Timeline, order_key
from penstock.operators.source import SourceOperator
from penstock.plan.nodes import Table


def build(node: Table, context: Context) -> Operator:
    """The running operator: its one input is what was loaded or given, as `+` elements."""
    return SourceOperator()


def reference(node: Table, fed: Stream) -> Timeline:
    """All rows given so far, at each instant at which some are given."""
    rows: list[Row] = []
    timeline = []
    for ts, events in groupby(sorted(fed, key=order_key), key=lambda e: e.ts):
        rows = [*rows, *(e.row for e in events)]
        timeline.append(Snapshot(ts, rows))
    return timeline
