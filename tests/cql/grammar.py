"""Queries that are right by construction, made from the grammar of docs/cql.md over the declarations of
`tests.cql.corpus`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

Columns = dict[str, str]
SOURCES: Final[dict[str, Columns]] = {
    "s": {"a": "n", "b": "n", "c": "s", "x": "n", "d": "n"},
    "t": {"a": "n", "b": "n", "k": "n", "c": "s"},
    "v": {"a": "n", "b1": "n", "c": "s"},
    "r": {"a": "n", "name": "s"},
    "u": {"k": "n", "a": "n"},
}
STREAMS: Final = ("s", "t", "v")
TIME: Final = (
    "[Now]",
    "[Range 5 Seconds]",
    "[Range Unbounded]",
    "[Rows 3]",
    "[Rows 1,000]",
    "[Partition By a Rows 2]",
    "[Range 10 On a]",
)
SLIDES: Final = (
    "[Range 10 Seconds Slide 2 Seconds]",
    "[Rows 10 Slide 5]",
    "[Range 9 Slide 3 Origin 1]",
    "[Partition By a Rows 4 Slide 2]",
    "[Range 10 Slide 5 On a]",
)


@dataclass(frozen=True)
class Entry:
    """An entry of FROM as text, its alias and its columns."""

    text: str
    alias: str
    columns: Columns


def scripts() -> st.SearchStrategy[str]:
    """One query that binds."""
    return st.one_of(stream_queries(), relations(2), windowed_sums(), operated(), set_operations())


@st.composite
def conditions(draw: st.DrawFn, columns: Columns) -> str:
    made = [draw(comparisons(columns)) for _ in range(draw(st.integers(1, 3)))]
    return draw(st.sampled_from([" AND ", " OR "])).join(made)


@st.composite
def comparisons(draw: st.DrawFn, columns: Columns) -> str:
    name = draw(st.sampled_from(sorted(columns)))
    if columns[name] == "s":
        return draw(
            st.sampled_from([f"{name} = 'x'", f"{name} IS NULL", f"NOT ({name} <> 'y')", f"{name} IN ('p', 'q')"])
        )
    value = draw(numbers(columns, 2))
    return draw(
        st.sampled_from(
            [
                f"{name} > {value}",
                f"{name} BETWEEN 1 AND {value}",
                f"{name} NOT IN (1, {value})",
                f"{value} <= {name}",
                f"({name} = 1 OR {name} IS NOT NULL)",
            ]
        )
    )


@st.composite
def numbers(draw: st.DrawFn, columns: Columns, depth: int) -> str:
    names = [n for n in columns if columns[n] == "n"]
    leaf = st.one_of(st.sampled_from(sorted(names)), st.integers(0, 99).map(str), st.just("1.5"))
    if depth == 0 or draw(st.booleans()):
        return draw(leaf)
    left, right = draw(numbers(columns, depth - 1)), draw(numbers(columns, depth - 1))
    return draw(
        st.sampled_from(
            [
                f"{left} + {right}",
                f"({left} - {right})",
                f"{left} * {right}",
                f"-({left})",
                f"coalesce({left}, {right})",
                f"CASE WHEN {left} > 1 THEN {right} ELSE {left} END",
            ]
        )
    )


@st.composite
def stream_queries(draw: st.DrawFn) -> str:
    """A lone stream without a window."""
    name = draw(st.sampled_from(STREAMS))
    columns = SOURCES[name]
    outputs = draw(st.sampled_from(["*", f"{draw(numbers(columns, 2))} AS e", "a", f"{name}.*"]))
    where = f" WHERE {draw(conditions(columns))}" if draw(st.booleans()) else ""
    return f"SELECT {outputs} FROM {name}{where}"


@st.composite
def entries(draw: st.DrawFn, alias: str, depth: int) -> Entry:
    if depth and draw(st.integers(0, 3)) == 0:
        inner = draw(relations(depth - 1, named=True))
        return Entry(f"({inner}) AS {alias}", alias, {"e": "n", "c0": "n"})
    name = draw(st.sampled_from(sorted(SOURCES)))
    window = f" {draw(st.sampled_from(TIME + SLIDES))}" if name in STREAMS else ""
    return Entry(f"{name}{window} {alias}", alias, SOURCES[name])


@st.composite
def relations(draw: st.DrawFn, depth: int, named: bool = False) -> str:
    """A query over windows and relations; `named`: its columns are e and c0."""
    listed = [draw(entries(f"e{i}", depth)) for i in range(draw(st.integers(1, 3)))]
    columns = {f"{e.alias}.{c}": k for e in listed for c, k in e.columns.items()}
    where = f" WHERE {draw(conditions(columns))}" if draw(st.booleans()) else ""
    if where and " OR " not in where and draw(st.booleans()):
        where += f" AND {draw(sub_query_conditions(columns))}"
    grouped = draw(st.booleans())
    source = f"FROM {', '.join(e.text for e in listed)}{where}"
    key = draw(st.sampled_from(sorted(n for n in columns if columns[n] == "n")))
    if grouped:
        call = draw(aggregate_calls(columns))
        having = f" HAVING {call} > 1" if draw(st.booleans()) else ""
        return f"SELECT {key} AS e, {call} AS c0 {source} GROUP BY {key}{having}"
    distinct = "DISTINCT " if draw(st.booleans()) else ""
    outputs = f"{key} AS e, {draw(numbers(columns, 1))} AS c0" if named or draw(st.booleans()) else "*"
    return f"SELECT {distinct}{outputs} {source}"


@st.composite
def aggregate_calls(draw: st.DrawFn, columns: Columns) -> str:
    argument = draw(numbers(columns, 1))
    return draw(
        st.sampled_from(
            ["count(*)", f"sum({argument})", f"count(DISTINCT {argument})", f"max({argument}) + 1", f"avg({argument})"]
        )
    )


@st.composite
def sub_query_conditions(draw: st.DrawFn, columns: Columns) -> str:
    name = draw(st.sampled_from(sorted(n for n in columns if columns[n] == "n")))
    window = draw(st.sampled_from(TIME[:-1]))
    negation = draw(st.sampled_from(["", "NOT "]))
    correlation = draw(
        st.sampled_from(["", f" WHERE z.b > {name}", " WHERE z.c = 'x'", f" WHERE z.b = {name} AND z.c IS NULL"])
    )
    query = f"(SELECT z.a FROM s {window} z{correlation})"
    return draw(st.sampled_from([f"{name} {negation}IN {query}", f"{negation}EXISTS {query}"]))


@st.composite
def windowed_sums(draw: st.DrawFn) -> str:
    """An aggregate over one sliding window, perhaps nested."""
    name, window = draw(st.sampled_from(STREAMS)), draw(st.sampled_from(SLIDES))
    columns = SOURCES[name]
    where = f" WHERE {draw(conditions(columns))}" if draw(st.booleans()) else ""
    inner = f"SELECT a, {draw(aggregate_calls(columns))} AS n, window_end FROM {name} {window}{where} GROUP BY a"
    if draw(st.booleans()):
        return inner
    return f"SELECT max(n) AS m, count(*) FROM ({inner}) {draw(st.sampled_from(SLIDES))} AS w HAVING m > 0"


@st.composite
def operated(draw: st.DrawFn) -> str:
    word = draw(st.sampled_from(["Istream", "Dstream", "Rstream"]))
    return f"{word}({draw(relations(1))})"


@st.composite
def set_operations(draw: st.DrawFn) -> str:
    word = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]))
    return f" {word} ".join(draw(relations(1, named=True)) for _ in range(draw(st.integers(2, 3))))
