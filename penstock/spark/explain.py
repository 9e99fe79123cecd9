"""What runs where on Spark, and why: the gate, the stages, the lanes of each fragment, where panes are made."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.lane.partition import Fragment
from penstock.plan.expressions import Call, conjuncts, format_expression
from penstock.plan.node import Node, walk
from penstock.plan.nodes import Aggregate, Filter, Join, Source, Window, WindowAggregate
from penstock.plan.rewrites.prune_columns import needed_columns
from penstock.plan.windows import Rows, SlideRows, format_window
from penstock.settings import Settings
from penstock.spark.catalyst import sayable
from penstock.spark.entries import Entry
from penstock.spark.gate import MOST_CONDITIONS
from penstock.spark.pane_choice import BRANCHES, PaneChoice
from penstock.spark.panes import readers
from penstock.spark.stages import Staged


def described(cut: Staged, settings: Settings | None = None) -> str:
    """`cut` for a person.

    >>> from penstock.cql import compile_script
    >>> from penstock.spark.stages import staged
    >>> print(described(staged(compile_script('''
    ...     CREATE STREAM s (a INT, b INT, c INT);
    ...     CREATE STREAM t (a INT);
    ...     CREATE QUERY q AS SELECT b, sum(a) AS t FROM s [Range 10 Seconds Slide 4 Seconds] WHERE a > 1 GROUP BY b;
    ...     CREATE QUERY r AS SELECT count(*) AS n FROM t [Rows 5]'''), 2)))
    gate, in native Spark
      s: reads a, b; passes a > 1; to a lane by b
        panes of 2 Seconds by b where a > 1, in batches of 50,000 rows and more
      t: reads a; passes everything; to lane 1
        rows cross singly: 'window [Rows 5]' needs the rows
    stage 0
      fragment 0, on each of 2 lanes: q
      fragment 1, on lane 1: r
        a global window runs on one lane: [Rows 5]
    """
    settings = settings or Settings()
    lines = ["gate, in native Spark", *(f"  {line}" for line in _gate(cut, settings))]
    for stage in range(cut.stages):
        lines += [f"stage {stage}", *(f"  {line}" for line in _stage(cut, stage))]
    return "\n".join(lines)


def _gate(cut: Staged, settings: Settings) -> Iterator[str]:
    needed = needed_columns(*(q.root for q in cut.network.queries))
    for entry in cut.entries_of(0):
        read = [n for n in entry.leaf.schema.names if n in needed.get(entry.leaf, ())]
        columns = ", ".join(read) or "nothing but stamps"
        where = f"a lane by {_route(entry)}" if entry.inlet.route else f"lane {entry.home}"
        yield f"{entry.leaf.name}: reads {columns}; passes {_passes(entry, cut)}; to {where}"
        if isinstance(entry.leaf, Source):
            yield from (f"  {line}" for line in _panes(entry, cut, settings))


def _route(entry: Entry) -> str:
    return ", ".join(map(format_expression, entry.inlet.route))


def _passes(entry: Entry, cut: Staged) -> str:
    takers = [n for n in walk(*cut.roots_of(entry.fragment)) if entry.leaf in n.inputs]
    filters = [n.predicate for n in takers if isinstance(n, Filter) and sayable(n.predicate)]
    if not 0 < len(takers) == len(filters) <= MOST_CONDITIONS or entry.leaf in cut.roots_of(entry.fragment):
        return "everything"
    return " or ".join(map(format_expression, filters))


def _panes(entry: Entry, cut: Staged, settings: Settings) -> Iterator[str]:
    mine = [p for p in cut.panes if p.source == entry]
    choice = PaneChoice(cut, settings)
    if not mine:
        yield f"rows cross singly: {readers(entry, cut.fragments[entry.fragment])[1]}"
    elif not choice.of((), ()):
        yield f"rows cross singly: panes would take more than {BRANCHES} passes over a batch"
    else:
        yield from (f"{p}, in batches of {settings.pane_rows:,} rows and more" for p in mine)


def _stage(cut: Staged, stage: int) -> Iterator[str]:
    for number, fragment in enumerate(cut.fragments):
        if cut.depths[number] == stage:
            lanes = cut.lanes_of(number)
            where = f"on each of {cut.lanes} lanes" if fragment.spread else f"on lane {lanes[0]}"
            yield f"fragment {number}, {where}: {', '.join(o.name for o in fragment.outlets)}"
            for entry in cut.entries_of(stage) if stage else ():
                if entry.fragment == number:
                    yield f"  takes {entry.leaf.name} " + (f"by {_route(entry)}" if entry.inlet.route else "whole")
            if not fragment.spread:
                yield f"  {_why_alone(fragment)}"


def _why_alone(fragment: Fragment) -> str:
    for node in walk(*(o.root for o in fragment.outlets)):
        why = _alone(node)
        if why:
            return why
    return "no key serves all of its operators, or the key is more than columns"


def _alone(node: Node) -> str | None:
    """Why an operator keeps its fragment on one lane; None where it does not."""
    match node:
        case Window(spec=Rows(count=int(), by=()) | SlideRows(by=()) as spec):
            return f"a global window runs on one lane: {format_window(spec)}"
        case WindowAggregate(window=SlideRows(by=()) as spec):
            return f"a global window runs on one lane: {format_window(spec)}"
        case WindowAggregate(keys=()) | Aggregate(keys=()):
            return f"an aggregate without GROUP BY runs on one lane: '{node.label}'"
        case Join() if not any(isinstance(c, Call) and c.function == "=" for c in conjuncts(node.predicate)):
            return f"a join without an equality runs on one lane: '{node.label}'"
    return None
