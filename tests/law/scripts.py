"""Random CQL scripts over every type: expressions, windows of all forms, nested queries, sub-queries, set operations,
views, relations kept current, users' aggregates; and events for them with ties, late ones, NULLs and extremes."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

Typed = tuple[str, str]
"""An expression or a column, and its kind: the first letter of what `KINDS` calls it."""
TYPES: Final = {
    "k": "INT", "v": "BIGINT", "x": "DOUBLE", "d": "DECIMAL(8, 2)", "w": "DECIMAL(30, 3)", "c": "STRING",
    "t": "TIMESTAMP", "y": "DATE", "i": "INTERVAL", "b": "BOOLEAN", "z": "ARRAY<INT>",
}  # fmt: skip
KINDS: Final = dict(zip(TYPES, "nnnnnstdibz", strict=True))
AXES: Final = "kvxdtyi"
COMMON: Final[dict[str, Sequence[Any]]] = {
    "k": (0, 1, 2, 3, -1), "v": (0, 1, 2, 3, 7, 100), "x": (0.0, 1.0, 2.5, -1.5, 0.1),
    "d": (Decimal("0"), Decimal("1.5"), Decimal("-2.25")), "w": (Decimal("0"), Decimal("12345678901234567890.125")),
    "c": ("a", "b", "ab", ""), "t": (0, 1, 5, 86_400_000_000), "y": (dt.date(1970, 1, 1), dt.date(2024, 2, 29)),
    "i": (0, 1, 1_000_000), "b": (True, False), "z": ([], [1], [1, None], [2, 1]),
}  # fmt: skip
EXTREME: Final[dict[str, Sequence[Any]]] = {
    "k": (2**31 - 1, -(2**31)), "v": (2**63 - 1, -(2**63)), "x": (float("nan"), float("inf"), -0.0, 1e308, 5e-324),
    "d": (Decimal("999999.99"), Decimal("-999999.99")), "w": (Decimal("9" * 27 + ".999"), Decimal("-" + "9" * 27)),
    "c": ("\u00e9", "\U0001f600", "a\x00", "%_", "z" * 50), "t": (-1, -(1 << 40)),
    "y": (dt.date.min, dt.date.max), "i": (-1, 1 << 40), "b": (True,), "z": ([None, None], [1, 1, 1]),
}  # fmt: skip
CONSTANTS: Final[dict[str, Sequence[str]]] = {
    "n": ("0", "1", "2", "-1", "2.5", "100", "0.1"), "s": ("'a'", "'ab'", "''", "'%'"), "b": ("TRUE", "FALSE"),
    "t": ("TIMESTAMP '1970-01-01 00:00:00.000001'", "TIMESTAMP '1970-01-02'"), "d": ("DATE '2024-02-29'",),
    "i": ("INTERVAL '1' SECOND", "INTERVAL '1' MICROSECOND"), "z": ("ARRAY[1]", "ARRAY[1, NULL]"),
}  # fmt: skip
FORMS: Final[dict[str, Sequence[str]]] = {
    "n": ("({n} + {n})", "({n} - {n})", "({n} * {n})", "({n} / {n})", "({n} % {n})", "-({n})", "abs({n})",
          "round({n}, 1)", "floor({n})", "length({s})", "cast({n} AS INT)", "cast({n} AS DOUBLE)",
          "cast({n} AS DECIMAL(10, 1))", "greatest({n}, {n})",
          "least({n}, {n})", "hour({t})", "year({d})", "sqrt({n})", "size({z})", "halved({n})",
          "element_at({z}, 1)", "power({n}, 2)", "cast({s} AS INT)", "datediff({d}, {d})", "instr({s}, {s})"),
    "s": ("({s} || {s})", "upper({s})", "substr({s}, 1, 1)", "cast({n} AS STRING)", "cast({t} AS STRING)", "trim({s})",
          "cast({d} AS STRING)", "concat({s}, {n})", "replace({s}, 'a', 'b')", "lpad({s}, 3, '.')", "reverse({s})"),
    "t": ("({t} + {i})", "({t} - {i})", "cast({d} AS TIMESTAMP)", "date_trunc('hour', {t})"),
    "d": ("({d} + 1)", "cast({t} AS DATE)", "add_months({d}, 1)", "last_day({d})"),
    "i": ("({t} - {t})", "({i} + {i})", "({i} * 2)", "({d} - {d})"),
    "b": ("({n} < {n})", "({s} IS NULL)", "({d} = {d})"),
    "z": ("{z}",),
}  # fmt: skip
AGGREGATES: Final = (
    "sum({n})", "sum({n})", "avg({n})", "avg({n})", "min({n})", "max({n})", "stddev({n})", "variance({n})",
    "var_pop({n})", "approx_quantile({n}, 0.5)", "sum(DISTINCT {n})", "avg(DISTINCT {n})", "count(DISTINCT {s})",
    "count({d})", "count(*)", "sum({n}) + count(*)", "spread({n})",
)  # fmt: skip
SETS: Final = ("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")


@dataclass
class Script:
    """A script with one to three queries, and `events` for it."""

    seed: int
    streams: dict[str, list[str]] = field(default_factory=dict)
    relations: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.names = 0
        for name in "sqp"[: self.choose((1, 2, 2, 3))]:
            self.streams[name] = ["k", "v", *self.some("xdwctyibz", 5)]
        if self.one_in(2):
            self.relations["r"] = ["k", *self.some("vxdwctyibz", 3)]
        self.extreme = self.one_in(3)
        self.declared = [*map(self.stream, self.streams), *map(self.relation_of, self.relations), *self.kept()]
        queries = [self.query() for _ in range(self.choose((1, 1, 2, 3)))]
        self.text = ";\n".join([*self.declared, *(f"CREATE QUERY q{i} AS {q}" for i, q in enumerate(queries))])
        self.events = self.arrivals(self.choose((0, 1, 3, 8, 15, 25, 40)))

    def choose(self, choices: Sequence[Any]) -> Any:
        return self.draw.choice(choices)

    def one_in(self, n: int) -> bool:
        return self.draw.randrange(n) == 0

    def some(self, choices: Sequence[str], most: int) -> list[str]:
        return self.draw.sample(choices, self.draw.randint(0, most))

    # Declarations and events

    def stream(self, name: str) -> str:
        late = self.choose(("", "", "WITHIN 3 MICROSECONDS", "WITHIN 2 MICROSECONDS LATE DROP", "WITHIN 0 LATE KEEP"))
        return f"CREATE STREAM {name} ({', '.join(f'{c} {TYPES[c]}' for c in self.streams[name])}) {late}"

    def relation_of(self, name: str) -> str:
        return f"CREATE RELATION {name} ({', '.join(f'{c} {TYPES[c]}' for c in self.relations[name])})"

    def kept(self) -> list[str]:
        """Perhaps a relation that a stream keeps current."""
        if not self.one_in(3):
            return []
        columns = self.relations["m"] = self.streams["s"]
        listed = ", ".join(f"{c} {TYPES[c]}" for c in columns)
        return [f"CREATE RELATION m ({listed}) FROM s KEY ({self.choose(columns)})"]

    def arrivals(self, count: int) -> list[tuple[str, int, dict[str, Any]]]:
        now = self.draw.randint(-5, 5)
        loaded = [n for n in self.relations if n == "r"] * self.draw.randint(0, 5)
        listed = [(name, now - 3, self.row(self.relations[name])) for name in loaded]
        for _ in range(count):
            now += self.choose((0, 0, 0, 1, 1, 2, 5, 9))
            name = self.choose(list(self.streams))
            listed.append((name, now - self.choose((0, 0, 0, 0, 1, 2, 6)), self.row(self.streams[name])))
        return listed

    def row(self, columns: Sequence[str]) -> dict[str, Any]:
        return {c: self.value(c) for c in columns}

    def value(self, column: str) -> Any:
        if self.one_in(7):
            return None
        return self.choose(EXTREME[column] if self.extreme and self.one_in(5) else COMMON[column])

    # Expressions

    def expression(self, columns: Sequence[Typed], kind: str, depth: int = 2) -> str:
        if depth <= 0 or self.one_in(3):
            known = [text for text, k in columns if k == kind]
            return str(self.choose(known) if known and not self.one_in(7) else self.choose(CONSTANTS[kind]))
        if self.one_in(7):
            a, b = (self.expression(columns, kind, depth - 1) for _ in range(2))
            return f"CASE WHEN {self.condition(columns, depth - 1)} THEN {a} ELSE {b} END"
        return self.filled(self.choose((*FORMS[kind], f"coalesce({{{kind}}}, {{{kind}}})")), columns, depth - 1)

    def filled(self, form: str, columns: Sequence[Typed], depth: int) -> str:
        """`form` with an expression of its own for each place."""
        while "{" in form:
            at = form.index("{")
            form = form[:at] + self.expression(columns, form[at + 1], depth) + form[at + 3 :]
        return form

    def condition(self, columns: Sequence[Typed], depth: int = 2) -> str:
        if depth > 0 and self.one_in(3):
            a, b = self.condition(columns, depth - 1), self.condition(columns, depth - 1)
            return str(self.choose((f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})")))
        kind = self.choose([k for _, k in columns])
        a, b, c = (self.expression(columns, kind, depth - 1) for _ in range(3))
        compared = f"{a} {self.choose(('=', '<>', '<', '<=', '>', '>=', '<=>'))} {b}"
        others = (f"{a} IS NULL", f"{a} BETWEEN {b} AND {c}", f"{a} NOT IN ({b}, NULL)", f"{a} IN ({b}, {c})")
        like = (f"{a} LIKE {self.choose(('a%', '_b', '%'))!r}",) if kind == "s" else ()
        return str(self.choose((compared, compared, compared, *others, *like)))

    # Windows and entries of FROM

    def window(self, columns: Sequence[str], slides: bool | None = None) -> str:
        size, slide, axes = self.draw.randint(1, 9), self.draw.randint(1, 9), [c for c in columns if c in AXES]
        by = ", ".join(self.draw.sample(columns, min(len(columns), self.choose((1, 1, 2)))))
        on = f" On {self.choose(axes)}" if axes else ""
        sliding = [f"[Range {size} Slide {slide}]", f"[Range {size} Slide {slide} Origin {self.draw.randint(0, 4)}]",
                   f"[Range {size}{on} Slide {slide}]", f"[Rows {size} Slide {slide}]",
                   f"[Partition By {by} Rows {size} Slide {slide}]"]  # fmt: skip
        still = ["[Now]", f"[Range {size}]", "[Range Unbounded]", "[Rows Unbounded]", f"[Range {size}{on}]",
                 f"[Rows {size}]", f"[Partition By {by} Rows {size}]"]  # fmt: skip
        return str(self.choose(sliding if slides or (slides is None and self.one_in(3)) else still))

    def entry(self, depth: int) -> tuple[str, list[Typed], bool]:
        """Its text, its columns, and whether it is one window over a stream that is declared."""
        self.names += 1
        alias = f"e{self.names}"
        if depth > 0 and self.one_in(4):
            text, columns = self.nested(depth - 1)
            return f"{text} AS {alias}", [(f"{alias}.{c}", k) for c, k in columns], False
        name = self.choose([*self.streams, *self.streams, *self.relations])
        columns = [(f"{alias}.{c}", KINDS[c]) for c in self.streams.get(name) or self.relations[name]]
        window = f" {self.window(self.streams[name])}" if name in self.streams else ""
        return f"{name}{window} {alias}", columns, bool(window)

    def nested(self, depth: int) -> tuple[str, list[Typed]]:
        """A query in parentheses: a relation, or a stream under a window of its own."""
        if self.one_in(3):
            text, columns = self.window_stream()
            return f"({text}) {self.window([c for c, _ in columns], False)}", columns
        text, columns = self.select(depth)
        if not self.one_in(4):
            return f"({text})", columns
        operator = self.choose(("Istream", "Dstream", "Rstream"))
        return f"({operator}({text})) {self.window([c for c, _ in columns])}", columns

    # Queries

    def query(self) -> str:
        if self.one_in(4):
            return self.window_stream()[0] if self.one_in(3) else self.filtered()
        text, _ = self.select(self.choose((0, 1, 1, 2)))
        return f"{self.choose(('Istream', 'Dstream', 'Rstream'))}({text})" if self.one_in(2) else text

    def filtered(self) -> str:
        name = self.choose(list(self.streams))
        columns = [(f"{name}.{c}", KINDS[c]) for c in self.streams[name]]
        conditions = [self.condition(columns)] + ([self.sub_query(columns)] if self.one_in(3) else [])
        return f"SELECT {self.outputs(columns)[0]} FROM {name} WHERE {' AND '.join(conditions)}"

    def outputs(self, columns: Sequence[Typed], kinds: Sequence[str] = ()) -> tuple[str, list[Typed]]:
        wanted = kinds or [self.choose([k for _, k in columns]) for _ in range(self.draw.randint(1, 3))]
        made = [(f"o{i}", k, self.expression(columns, k, self.choose((0, 0, 1, 2)))) for i, k in enumerate(wanted)]
        return ", ".join(f"{text} AS {name}" for name, _, text in made), [(n, k) for n, k, _ in made]

    def select(self, depth: int, kinds: Sequence[str] = ()) -> tuple[str, list[Typed]]:
        if depth > 0 and not kinds and self.one_in(6):
            wanted = [self.choose("nnsbtdi") for _ in range(self.draw.randint(1, 2))]
            parts = [self.select(depth - 1, wanted) for _ in range(self.choose((2, 2, 3)))]
            return f" {self.choose(SETS)} ".join(text for text, _ in parts), parts[0][1]
        entries = [self.entry(depth) for _ in range(self.choose((1, 1, 1, 2, 2, 3)))]
        columns = [column for _, found, _ in entries for column in found]
        conditions = [self.link(entries[i - 1][1], entries[i][1]) for i in range(1, len(entries))]
        conditions += [f"({self.condition(columns)})"] if self.one_in(3) else []
        conditions += [self.sub_query(columns)] if self.one_in(5) else []
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        source = f" FROM {', '.join(text for text, _, _ in entries)}{where}"
        if not kinds and self.one_in(2):
            return self.grouped(columns, source, entries[0][2] and len(entries) == 1 and not where)
        listed, found = self.outputs(columns, kinds)
        return f"SELECT {self.choose(('', '', '', 'DISTINCT '))}{listed}{source}", found

    def link(self, left: Sequence[Typed], right: Sequence[Typed]) -> str:
        pairs = [(a, b) for a, ka in left for b, kb in right if ka == kb != "z"]
        if not pairs:
            return "1 = 1"
        a, b = self.choose(pairs)
        return f"{a} {self.choose(('=', '=', '=', '<', '>=', '<=>'))} {b}"

    def sub_query(self, columns: Sequence[Typed]) -> str:
        outer, kind = self.choose(columns)
        found = [(name, c) for name, listed in self.streams.items() for c in listed if KINDS[c] == kind]
        name, column = self.choose(found) if found else ("s", "k")
        inner, negated = f"FROM {name} {self.window(self.streams[name])} z", self.choose(("", "NOT "))
        if not found or self.one_in(3):
            return f"{negated}EXISTS (SELECT * {inner} WHERE z.k {self.choose(('=', '<'))} 2)"
        correlated = f" WHERE z.{column} {self.choose(('=', '<>', '>='))} {outer}" if self.one_in(3) else ""
        return f"{outer} {negated}IN (SELECT z.{column} {inner}{correlated})"

    def grouped(self, columns: Sequence[Typed], source: str, ordered: bool) -> tuple[str, list[Typed]]:
        keys = list(dict.fromkeys(self.choose(columns) for _ in range(self.choose((0, 1, 1, 2)))))
        calls = [(self.filled(self.choose(AGGREGATES), columns, 1), "n") for _ in range(self.draw.randint(1, 3))]
        if ordered and self.one_in(3):
            text, kind = self.choose(columns)
            calls.append((f"{self.choose(('first', 'last'))}({text})", kind))
        made = [(f"g{i}", k, text) for i, (text, k) in enumerate(keys)]
        made += [(f"a{i}", k, text) for i, (text, k) in enumerate(calls)]
        by = f" GROUP BY {', '.join(text for text, _ in keys)}" if keys else ""
        having = f" HAVING a0 {self.choose('><')} {self.choose('012')}" if self.one_in(4) else ""
        listed = ", ".join(f"{text} AS {name}" for name, _, text in made)
        return f"SELECT {listed}{source}{by}{having}", [(n, k) for n, k, _ in made]

    def window_stream(self) -> tuple[str, list[Typed]]:
        """An aggregate over a sliding window, with the window's end."""
        name = self.choose(list(self.streams))
        columns = [(c, KINDS[c]) for c in self.streams[name]]
        window = self.window(self.streams[name], True)
        over_time = window.startswith("[Range") and " On " not in window
        where = f" WHERE {self.condition(columns)}" if self.one_in(3) else ""
        text, found = self.grouped(columns, f" FROM {name} {window}{where}", over_time or not where)
        return text.replace("SELECT ", "SELECT window_end AS we, ", 1), found
