"""A script that changes over one checkpoint: queries come and go, everything else is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.lane import reference
from penstock.lane.events import Arrival
from penstock.plan.network import Network
from penstock.plan.windows import BEGIN, END
from penstock.spark.generations import Registered, changed, first
from penstock.spark.run import Run, RunOptions
from penstock.spark.stages import staged
from tests.law.compare import net

STREAMS = """
CREATE STREAM p (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts FROM parquet OPTIONS (path = '{d}/p');
CREATE STREAM r (ts TIMESTAMP, k INT, w INT) TIMESTAMP BY ts FROM parquet OPTIONS (path = '{d}/r');
CREATE RELATION t (k INT, name STRING) FROM json OPTIONS (path = '{d}/t.json');
"""
OUT = "INTO parquet OPTIONS (path = '{{d}}/out/{name}');"
QUERIES = {
    "sums": "SELECT k, sum(v) AS total FROM p [Range 2 Seconds Slide 1 Second] GROUP BY k",
    "pairs": "Istream(SELECT p.k, p.v, r.w FROM p [Range 1 Second], r [Range 1 Second] WHERE p.k = r.k)",
    "large": "SELECT k, v FROM p WHERE v > 50",
    "nested": "SELECT n, count(*) AS c FROM (SELECT k, v, count(*) AS n FROM p [Range 2 Seconds Slide 1 Second] "
              "GROUP BY k, v) [Range 4 Seconds Slide 2 Seconds] GROUP BY n",
    "named": "Istream(SELECT t.name, p.v FROM p [Range 1 Second], t WHERE p.k = t.k)",
    "last": "Istream(SELECT r.w, p.v FROM p [Rows 3], r [Now])",
}  # fmt: skip


def script(folder: Path, *names: str) -> Network:
    listed = (f"CREATE QUERY {n} AS {QUERIES[n]} " + OUT.format(name=n) for n in names)
    return compile_script((STREAMS + "".join(listed)).format(d=folder))


def feed(folder: Path, part: int, start: int) -> list[Arrival]:
    """One more file of each stream; what it brings, in the order of time."""
    draw = random.Random(part)
    given = []
    for name, column in (("p", "v"), ("r", "w")):
        ts = sorted(start + draw.randrange(5_000_000) for _ in range(120))
        rows = [(t, draw.randrange(5), draw.randrange(100)) for t in ts]
        columns = {"ts": pa.array(ts, pa.timestamp("us", tz="UTC")), "k": pa.array([r[1] for r in rows], pa.int32()),
                   column: pa.array([r[2] for r in rows], pa.int32())}  # fmt: skip
        (folder / name).mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), folder / name / f"{part}.parquet")
        given += [Arrival(name, r[0], i, r) for i, r in enumerate(rows)]
    return given


def go(folder: Path, network: Network, close: bool = False) -> Run:
    running = Run(network, RunOptions("local[2]", str(folder / "ck"), until_idle=True, close=close), lambda _: None)
    running.go()
    return running


def delivered(folder: Path, network: Network, name: str) -> Counter[Any]:
    path = folder / "out" / name
    if not path.is_dir() or not any(path.iterdir()):
        return Counter()
    table = ds.dataset(path, format="parquet").to_table()
    columns = [table.column(n).to_pylist() for n in network.query(name).root.schema.names]
    stamps = table.column("_timestamp").cast(pa.int64()).to_pylist()
    return Counter((t, *row) for t, row in zip(stamps, zip(*columns, strict=True), strict=True))


def expected(network: Network, name: str, given: Sequence[Arrival], born: int, until: int) -> Counter[Any]:
    alone = Network(network.streams, network.relations, (network.query(name),))
    found = reference.evaluate(alone, network.streams, given, until, born)[name]
    return Counter({(ts, *(value for _, value in row)): n for (ts, row), n in net(found).items()})


@pytest.mark.usefixtures("spark")
def test_queries_that_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("".join(f'{{"k": {k}, "name": "n{k}"}}\n' for k in range(5)), encoding="utf-8")
    loaded = [Arrival("t", BEGIN, k, (k, f"n{k}")) for k in range(5)]
    scripts = (
        ("sums", "pairs", "last"),
        ("sums", "pairs", "last", "large", "nested", "named"),
        ("pairs", "large", "named"),
        ("pairs", "large", "named", "sums"),
    )
    given: list[Arrival] = list(loaded)
    births: dict[str, int] = {}
    for part, names in enumerate(scripts):
        seen = max(a.ts for a in given) + 1
        births |= {n: seen for n in names if part and n not in scripts[part - 1]}
        given += feed(tmp_path, part, 5_000_000 * part)
        network = script(tmp_path, *names)
        go(tmp_path, network, close=part == len(scripts) - 1)
    for name in ("pairs", "large", "named"):
        wanted = expected(network, name, given, births.get(name, BEGIN), END)
        assert delivered(tmp_path, network, name) == wanted, name
    assert sum(delivered(tmp_path, network, "named").values()) > 50


def registered(*names: str) -> Registered:
    return first(script(Path("x"), *names))


def test_the_state_of_those_that_stay_is_not_moved() -> None:
    before = registered("sums", "pairs", "last")
    after = changed(before, script(Path("x"), "last", "large", "nested"), 100, 7)
    old, new = staged(before, 3), staged(after, 3)
    assert [g.born for g in after.generations] == [BEGIN, 100]
    fragment = {o.name: i for i, f in enumerate(old.fragments) for o in f.outlets}
    again = {o.name: i for i, f in enumerate(new.fragments) for o in f.outlets}
    assert fragment["last"] == again["last"]
    assert "sums" not in again
    assert new.lanes_of(again["last"]) == old.lanes_of(fragment["last"])
    kept = {e.number: e.leaf for e in old.entries}
    assert all(kept[e.number] == e.leaf for e in new.entries if e.number in kept)
    assert {e.born for e in new.entries if e.since == 7 and e.leaf.name == "p"} == {100}
    assert changed(before, script(Path("x"), "sums", "pairs", "last"), 100, 7) == before


REFUSED = {
    "sum(v) AS total": ("max(v) AS total", "the query 'sums' computes something else than in the checkpoint"),
    "out/sums": ("out/other", "the query 'sums' delivers to another place than in the checkpoint"),
    "k INT, v INT": ("k BIGINT, v INT", "the stream 'p' is defined otherwise than in the checkpoint"),
}


@pytest.mark.parametrize("old", REFUSED)
def test_other_changes_are_refused_with_the_reason(old: str) -> None:
    new, reason = REFUSED[old]
    text = STREAMS + f"CREATE QUERY sums AS {QUERIES['sums']} " + OUT.format(name="sums")
    before = first(compile_script(text.format(d="x")))
    with pytest.raises(PenstockError, match=reason):
        changed(before, compile_script(text.replace(old, new).format(d="x")), 100, 7)


def test_a_stream_without_offsets_is_refused() -> None:
    with pytest.raises(PenstockError, match="the new query 'pairs' reads the stream 'r', of which"):
        changed(registered("sums"), script(Path("x"), "sums", "pairs"), 100, 7)


def test_options_may_change() -> None:
    text = STREAMS + "CREATE QUERY q WITH (delay = '{s} seconds') AS SELECT k FROM p WHERE v > 1"
    before, after = (compile_script(text.replace("{s}", s).format(d="x")) for s in "25")
    assert changed(first(before), after, 100, 7).network.queries == after.queries


