"""SQL means what it means: random relational queries against SQLite, which gets the windows' rows at every instant.

Nothing of this oracle is shared with Penstock: windows are plain Python, and binder, rewrites and engines stand on the
other side.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter, defaultdict
from typing import Any

import pytest

from penstock.cql import compile_script
from penstock.plan.node import Kind
from penstock.testing import evaluate
from tests.law.sql import COLUMNS, VALUES, Row, SqlQuery

SEEDS = 100
MANY = int(os.environ.get("PENSTOCK_LAW_CASES", "5000"))
DECLARED = "".join(
    f"CREATE {'RELATION' if name == 'r' else 'STREAM'} {name} ({', '.join(f'{c} {t}' for c, t in columns.items())});"
    for name, columns in COLUMNS.items()
)
TYPES = {"INT": "INTEGER", "BIGINT": "INTEGER", "STRING": "TEXT", "DOUBLE": "REAL"}
Contents = Counter[tuple[Any, ...]]


def events(draw: random.Random) -> list[tuple[str, int, Row]]:
    """The relation's rows, then up to 14 of both streams in order, with ties, gaps and NULLs."""

    def row(name: str) -> Row:
        return {c: None if draw.random() < 0.15 else draw.choice(VALUES[c]) for c in COLUMNS[name]}

    listed, now = [("r", 0, row("r")) for _ in range(draw.randint(0, 4))], 0
    for _ in range(draw.choice((1, 3, 6, 10, 14))):
        now += draw.choice((0, 0, 1, 1, 2, 4, 7))
        name = draw.choice("sq")
        listed.append((name, now, row(name)))
    return listed


class Database:
    """SQLite with a table for each window of a query."""

    def __init__(self, query: SqlQuery, fed: list[tuple[str, int, Row]]) -> None:
        self.query = query
        self.fed = {name: [(t, row) for n, t, row in fed if n == name] for name in COLUMNS}
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("PRAGMA case_sensitive_like = ON")
        for i, source in enumerate(query.sources):
            columns = ", ".join(f"{c} {TYPES[t]}" for c, t in COLUMNS[source.name].items())
            self.connection.execute(f"CREATE TABLE w{i} ({columns})")

    def at(self, instant: int) -> Contents:
        """The query's rows over what the windows hold at an instant."""
        for i, source in enumerate(self.query.sources):
            rows = [tuple(row.values()) for row in source.holds(self.fed[source.name], instant)]
            self.connection.execute(f"DELETE FROM w{i}")
            marks = ", ".join("?" * len(COLUMNS[source.name]))
            self.connection.executemany(f"INSERT INTO w{i} VALUES ({marks})", rows)
        if self.query.word not in ("EXCEPT ALL", "INTERSECT ALL"):
            parts = (self.query.sql(i) for i in range(len(self.query.parts)))
            return self._rows(f" {self.query.word} ".join(parts))
        left, right = (self._rows(self.query.sql(i)) for i in (0, 1))
        return left - right if self.query.word == "EXCEPT ALL" else left & right

    def _rows(self, sql: str) -> Contents:
        return Counter(tuple(map(plain, row)) for row in self.connection.execute(sql))


def plain(value: Any) -> Any:
    """Numbers alike, whatever their type."""
    return round(float(value), 9) + 0.0 if isinstance(value, int | float) else value


def means_what_sql_means(seed: int) -> None:
    query, draw = SqlQuery(seed), random.Random(seed)
    if compile_script(DECLARED + query.cql).queries[0].root.kind is Kind.STREAM:
        return
    fed, operator = events(draw), draw.choice((None, None, "Istream", "Dstream"))
    how = {"engine": draw.choice(("lane", "lane", "reference")), "batches": draw.choice((None, 1, 3)),
           "lanes": draw.choice((1, 1, 2))}  # fmt: skip
    script = DECLARED + (f"{operator}({query.cql})" if operator else query.cql)
    changes: defaultdict[int, Contents] = defaultdict(Counter)
    for element in evaluate(script, fed, **how)["query1"]:
        changes[element.timestamp][tuple(map(plain, element.values.values()))] += element.sign
    database, shown, before = Database(query, fed), Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    for instant in range(-3, max(t for _, t, _ in fed) + 20):
        wanted = database.at(instant)
        found = changes.pop(instant, Counter[tuple[Any, ...]]())
        if operator is not None:
            assert found == (wanted - before if operator == "Istream" else before - wanted), f"{script} at {instant}"
        else:
            shown.update(found)
            assert +shown == wanted and min(shown.values(), default=0) >= 0, f"{script} at {instant}"
        before = wanted
    assert not any(any(c.values()) for t, c in changes.items() if t >= -3), f"{script} later"


def test_relational_queries_mean_what_sql_means() -> None:
    for seed in range(SEEDS):
        means_what_sql_means(seed)


@pytest.mark.slow
def test_relational_queries_mean_what_sql_means_at_length() -> None:
    for seed in range(SEEDS, SEEDS + MANY):
        means_what_sql_means(seed)
