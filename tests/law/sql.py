"""Random queries that are SQL but for their windows: one text for CQL, one for a database that holds the windows' rows.

Only what means the same in both is used: no division, no overflow, no order. Where they differ (an aggregate without
GROUP BY over nothing) the two texts do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

COLUMNS: Final[dict[str, dict[str, str]]] = {
    "s": {"k": "INT", "v": "BIGINT", "c": "STRING", "x": "DOUBLE"},
    "q": {"k": "INT", "v": "BIGINT", "c": "STRING", "n": "INT"},
    "r": {"k": "INT", "c": "STRING", "n": "INT"},
}
"""Two streams, and a relation that is loaded."""
VALUES: Final[dict[str, Sequence[Any]]] = {
    "k": (0, 1, 2, 3), "v": (0, 1, 5, -2), "c": ("a", "b", "ab", "A"), "x": (0.0, 0.5, 1.0, -2.5), "n": (0, 1, 2),
}  # fmt: skip
SETS: Final = ("UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")
Row = dict[str, Any]
Typed = tuple[str, str]
"""An expression or a column, and its kind: n(umber) or s(tring)."""


@dataclass(frozen=True)
class Source:
    """An entry of FROM: a stream under a window, or the relation. `holds` is the window in plain Python: the rows at t
    of all (timestamp, row) in order."""

    name: str
    window: str
    holds: Callable[[list[tuple[int, Row]], int], list[Row]]


@dataclass
class SqlQuery:
    """A query in the making. In its text `{0}` is the first of `sources`, and so on; `sql` has the parts of a set
    operation, or one."""

    seed: int
    sources: list[Source] = field(default_factory=list)
    word: str = ""
    parts: list[str] = field(default_factory=list)
    depths: int = 0

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        kinds = [self.choose("ns") for _ in range(self.choose((1, 2)))]
        if self.one_in(5):
            self.word = self.choose(SETS)
            self.parts = [self.select(1, kinds)[0], self.select(1, kinds)[0]]
        else:
            self.parts = [self.select(1)[0]]

    @property
    def cql(self) -> str:
        """The query as Penstock reads it."""
        text = f" {self.word} ".join(self.parts).replace(" HAVING something AND", " HAVING")
        text = text.replace(" HAVING something", "")
        return text.format(*(f"{s.name} {s.window}".strip() for s in self.sources))

    def sql(self, part: int) -> str:
        """One part as the database reads it, over the tables w0, w1, ..."""
        text = self.parts[part].replace("HAVING something", "HAVING count(*) > 0")
        return text.format(*(f"w{i}" for i in range(len(self.sources))))

    # Chance

    def choose(self, choices: Sequence[Any]) -> Any:
        return self.draw.choice(choices)

    def one_in(self, n: int) -> bool:
        return self.draw.randrange(n) == 0

    # Sources

    def source(self) -> tuple[str, list[Typed]]:
        name = self.choose("ssqqr")
        columns = COLUMNS[name]
        self.sources.append(Source(name, *(self.window(list(columns)) if name != "r" else ("", _all))))
        kinds = [(c, "s" if t == "STRING" else "n") for c, t in columns.items()]
        return f"{{{len(self.sources) - 1}}}", kinds

    def window(self, columns: list[str]) -> tuple[str, Callable[[list[tuple[int, Row]], int], list[Row]]]:
        n, slide, origin = self.draw.randint(1, 9), self.draw.randint(1, 6), self.draw.randint(0, 3)
        by = self.draw.sample(columns, self.choose((1, 1, 2)))
        forms: list[tuple[str, Callable[[list[tuple[int, Row]], int], list[Row]]]] = [
            ("[Now]", lambda fed, t: [row for ts, row in fed if ts == t]),
            ("[Range Unbounded]", _all),
            (f"[Range {n}]", lambda fed, t: [row for ts, row in fed if t - n <= ts <= t]),
            (f"[Range {n}]", lambda fed, t: [row for ts, row in fed if t - n <= ts <= t]),
            (f"[Rows {n}]", lambda fed, t: _all(fed, t)[-n:]),
            (f"[Partition By {', '.join(by)} Rows {n}]", lambda fed, t: _partitioned(_all(fed, t), by, n)),
            (f"[Range {n} Slide {slide} Origin {origin}]", lambda fed, t: _slid(fed, t, n, slide, origin)),
            (f"[Rows {n} Slide {slide}]", lambda fed, t: _counted(_all(fed, t), n, slide)),
        ]
        return self.choose(forms)  # type: ignore[no-any-return]

    # Expressions

    def expression(self, columns: Sequence[Typed], kind: str, depth: int = 2) -> str:
        known = [text for text, k in columns if k == kind]
        if depth == 0 or self.one_in(3):
            constants = ("0", "1", "2", "1.5") if kind == "n" else ("'a'", "'b'", "''", "'AB'")
            return str(self.choose(known) if known and not self.one_in(6) else self.choose(constants))
        a, b, c = (self.expression(columns, kind, depth - 1) for _ in range(3))
        both = (f"coalesce({a}, {b})", f"nullif({a}, {b})", f"CASE {a} WHEN {b} THEN {c} END",
                f"CASE WHEN {self.condition(columns, depth - 1)} THEN {a} ELSE {b} END")  # fmt: skip
        length = f"length({self.expression(columns, 's', depth - 1)})"
        own = ((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"-({a})", f"abs({a})", length) if kind == "n" else
               (f"upper({a})", f"lower({a})", f"substr({a}, 1, 1)", f"replace({a}, 'a', 'b')", f"trim({a})",
                f"({a} || {b})"))  # fmt: skip
        return str(self.choose((*both, *own)))

    def condition(self, columns: Sequence[Typed], depth: int = 2) -> str:
        if depth > 0 and self.one_in(3):
            a, b = self.condition(columns, depth - 1), self.condition(columns, depth - 1)
            return str(self.choose((f"({a} AND {b})", f"({a} OR {b})", f"(NOT ({a}))")))
        kind = self.choose([k for _, k in columns])
        a, b, c = (self.expression(columns, kind, max(depth - 1, 0)) for _ in range(3))
        compared = f"({a} {self.choose(('=', '<>', '<', '<=', '>', '>='))} {b})"
        negated = self.choose(("", "NOT "))
        others = (f"({a} IS {negated}NULL)", f"({a} {negated}BETWEEN {b} AND {c})", f"({a} {negated}IN ({b}, {c}))",
                  f"({a} IS {negated}DISTINCT FROM {b})")  # fmt: skip
        like = (f"({a} {negated}LIKE {self.choose(('a%', '_', '%b%', 'A%'))!r})",) if kind == "s" else ()
        return str(self.choose((compared, compared, compared, *others, *like)))

    def sub_query(self, columns: Sequence[Typed]) -> str:
        """[NOT] IN, of a value or a row, or [NOT] EXISTS; perhaps correlated."""
        table, found = self.source()
        inner = [(f"z.{name}", kind) for name, kind in found]
        outer, kind = self.choose(columns)
        fitting = [name for name, k in inner if k == kind]
        conditions = [f"{self.choose(fitting)} {self.choose(('=', '=', '<', '>='))} {outer}"] if self.one_in(2) else []
        conditions += [self.condition(inner, 1)] if self.one_in(3) else []
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        negated, value = self.choose(("", "NOT ")), self.choose(fitting)
        return str(self.choose((
            f"{negated}EXISTS (SELECT * FROM {table} z{where})",
            f"{outer} {negated}IN (SELECT {value} FROM {table} z{where})",
            f"({outer}, {outer}) {negated}IN (SELECT {value} AS v0, {value} AS v1 FROM {table} z{where})",
        )))  # fmt: skip

    # Queries

    def select(self, depth: int, kinds: Sequence[str] = ()) -> tuple[str, list[Typed]]:
        """A query and its columns; `kinds`: what it gives."""
        self.depths += 1
        entries = [self.entry(f"e{i}_{self.depths}", depth) for i in range(self.choose((1, 1, 2, 2, 3)))]
        columns = [column for _, found in entries for column in found]
        conditions = [self.link(entries[i - 1][1], entries[i][1]) for i in range(1, len(entries))]
        conditions += [self.condition(columns)] if self.one_in(3) else []
        conditions += [self.sub_query(columns)] if self.one_in(3) else []
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        source = f" FROM {', '.join(text for text, _ in entries)}{where}"
        if not kinds and self.one_in(2):
            return self.grouped(columns, source)
        wanted = kinds or [self.choose([k for _, k in columns]) for _ in range(self.choose((1, 2, 3)))]
        outputs = [(f"o{i}", kind, self.expression(columns, kind)) for i, kind in enumerate(wanted)]
        listed = ", ".join(f"{text} AS {name}" for name, _, text in outputs)
        return f"SELECT {self.choose(('', '', 'DISTINCT '))}{listed}{source}", [(n, k) for n, k, _ in outputs]

    def entry(self, alias: str, depth: int) -> tuple[str, list[Typed]]:
        if depth and self.one_in(5):
            text, found = self.select(depth - 1)
            text = f"({text})"
        else:
            text, found = self.source()
        return f"{text} AS {alias}", [(f"{alias}.{name}", kind) for name, kind in found]

    def link(self, left: Sequence[Typed], right: Sequence[Typed]) -> str:
        pairs = [(a, b) for a, ka in left for b, kb in right if ka == kb]
        if not pairs:
            return "1 = 1"
        a, b = self.choose(pairs)
        return f"{a} {self.choose(('=', '=', '=', '<', '<>'))} {b}"

    def grouped(self, columns: Sequence[Typed], source: str) -> tuple[str, list[Typed]]:
        keys = list(dict.fromkeys(self.choose(columns) for _ in range(self.choose((0, 1, 1, 2)))))
        calls = [self.aggregate(columns) for _ in range(self.choose((1, 1, 2, 3)))]
        outputs = [(f"g{i}", k, text) for i, (text, k) in enumerate(keys)]
        outputs += [(f"a{i}", k, text) for i, (text, k) in enumerate(calls)]
        listed = ", ".join(f"{text} AS {name}" for name, _, text in outputs)
        by = f" GROUP BY {', '.join(text for text, _ in keys)}" if keys else ""
        number = next((text for text, kind in calls if kind == "n"), "count(*)")
        having = f" AND {number} {self.choose('><')} {self.choose('012')}" if self.one_in(3) else ""
        return f"SELECT {listed}{source}{by} HAVING something{having}", [(n, k) for n, k, _ in outputs]

    def aggregate(self, columns: Sequence[Typed]) -> Typed:
        number, text = self.expression(columns, "n", 1), self.expression(columns, "s", 1)
        numbers = (
            "count(*)", f"count({number})", f"sum({number})", f"min({number})", f"avg({number})",
            f"count(DISTINCT {text})", f"sum(DISTINCT {number})", f"sum({number}) + count(*)",
            f"count(DISTINCT {number})",
        )  # fmt: skip
        return self.choose(((self.choose(numbers), "n"), (self.choose(numbers), "n"), (f"max({text})", "s")))  # type: ignore[no-any-return]


def _all(fed: list[tuple[int, Row]], t: int) -> list[Row]:
    return [row for ts, row in fed if ts <= t]


def _partitioned(rows: list[Row], by: Sequence[str], n: int) -> list[Row]:
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row[b] for b in by), []).append(row)
    return [row for part in parts.values() for row in part[-n:]]


def _slid(fed: list[tuple[int, Row]], t: int, size: int, slide: int, origin: int) -> list[Row]:
    """The last window that has ended at t."""
    start = origin + (t - origin - size) // slide * slide
    return [row for ts, row in fed if start <= ts < start + size]


def _counted(rows: list[Row], n: int, slide: int) -> list[Row]:
    start = (len(rows) - n) // slide * slide
    return rows[max(start, 0) : max(start + n, 0)]
