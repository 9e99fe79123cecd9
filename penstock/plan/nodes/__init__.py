"""The operators of Babu's table 2.1 and Aurora's nine boxes (Tatbul 2.1.3), as nodes of a plan.

A node's columns have names of their own. A node that combines several inputs names their columns `0.x`, `1.x`, ... by
the input's position, so that equal sub-plans are equal whatever aliases the queries gave.
"""

from __future__ import annotations

from penstock.plan.nodes.aggregation import Aggregate, AggregateCall, Distinct, WindowAggregate
from penstock.plan.nodes.boxes import BSort, Read, Resample
from penstock.plan.nodes.checks import check_window, combined
from penstock.plan.nodes.combinations import Combination, Except, Intersect, Join, SemiJoin, Union
from penstock.plan.nodes.pipeline import FilterPipeline
from penstock.plan.nodes.sources import Source, Table, Window
from penstock.plan.nodes.stateless import Delay, Filter, Map
from penstock.plan.nodes.streams import DStream, IStream, RStream

__all__ = [
    "Aggregate",
    "AggregateCall",
    "BSort",
    "Combination",
    "DStream",
    "Delay",
    "Distinct",
    "Except",
    "Filter",
    "FilterPipeline",
    "IStream",
    "Intersect",
    "Join",
    "Map",
    "RStream",
    "Read",
    "Resample",
    "SemiJoin",
    "Source",
    "Table",
    "Union",
    "Window",
    "WindowAggregate",
    "check_window",
    "combined",
]
