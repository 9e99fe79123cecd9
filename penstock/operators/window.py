"""Windows from streams to relations (Babu's seq-window): which of the window operators runs which specification.

| specification | held in | operator |
|---|---|---|
| Range, Now | the stream's store | `range_window` |
| Rows | the stream's store | `rows_window` |
| Range Slide | the stream's store (a store of its own where windows leave gaps) | `slide_range_window` |
| Rows Slide | the stream's store | `slide_rows_window` |
| Partition By Rows | a pool of its own | `partition_window` |
| Partition By Rows Slide, Rows Slide with gaps | a pool of its own | `slide_partition_window` |
| Range On attribute | a pool of its own | `attribute_window` |
| Range On attribute Slide | a pool of its own | `slide_attribute_window` |
"""

from __future__ import annotations

from penstock.operators import (
    attribute_window,
    range_window,
    rows_window,
    slide_attribute_window,
    slide_range_window,
    slide_rows_window,
)
from penstock.operators.base import Context, Operator, Stream, Timeline
from penstock.operators.partition_window import PartitionWindow
from penstock.operators.slide_partition_window import SlidePartitionWindow
from penstock.plan.nodes import Window
from penstock.plan.windows import Range, Rows, SlideRange, SlideRows


def build(node: Window, context: Context) -> Operator:
    """The running operator."""
    match node.spec:
        case Range(on=None):
            return range_window.RangeWindow(node, context)
        case Range():
            return attribute_window.AttributeWindow(node, context)
        case Rows(by=()):
            return rows_window.RowsWindow(node, context)
        case Rows():
            return PartitionWindow(node, context)
        case SlideRange(on=None):
            return slide_range_window.build(node, context)
        case SlideRange():
            return slide_attribute_window.SlideAttributeWindow(node, context)
        case SlideRows(by=(), count=count, slide=slide) if slide <= count:
            return slide_rows_window.build(node, context)
        case SlideRows():
            return SlidePartitionWindow(node, context)


def reference(node: Window, stream: Stream) -> Timeline:
    """The content at every instant at which it may change."""
    match node.spec:
        case Range(on=None):
            return range_window.reference(node, stream)
        case Range():
            return attribute_window.reference(node, stream)
        case Rows():
            return rows_window.reference(node, stream)
        case SlideRange(on=None):
            return slide_range_window.reference(node, stream)
        case SlideRange():
            return slide_attribute_window.reference(node, stream)
        case SlideRows():
            return slide_rows_window.reference(node, stream)
