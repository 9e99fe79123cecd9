"""The function that Spark runs in its Python workers: it takes a lane's rows to the lane's server and brings its
answer.

Every row that leaves a courier is (`lane`, `kind`, `body`): of the last stage one "attempt", which the driver commits;
of an earlier one "rows" for lanes of the next, and to each of these a "control" with what they must know.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.spark.lanes.protocol import Request, connect, head_of, receive, send, socket_path
from penstock.spark.lanes.replies import handed_of
from penstock.spark.lanes.wire import from_bytes, to_bytes
from penstock.spark.shipping import unpacked

SCHEMA: Final = "lane bigint, kind string, body binary"
START_S: Final = 60.0
"""How long a server may take until it listens."""
TRIES: Final = 2
BATCH_BITS: Final = 27
SPLIT_BITS: Final = 10
ROW_BITS: Final = 26
SPARK_BITS: Final = 33
"""How Spark's monotonically_increasing_id packs split and row."""
FAILURE: Final = "penstock: "
"""What the message of a failure that a person is to read begins with."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What the driver gives every courier of a stage: the request but for the lane, and each lane's attempt before."""

    request: Request
    before: Mapping[int, str]
    last: bool

    def to(self, lane: int) -> Request:
        """The request to `lane`."""
        return replace(self.request, lane=lane, before=self.before.get(lane))


def first_stage(
    errand: Errand, lane: int | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The courier of the rows that the gate sends to `lane`; None: to the lane that the Spark task stands for."""

    def courier(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.thread_time() if lane is None else None
        listed = [b for b in batches if b.num_rows]
        body = to_bytes(_placed(pa.Table.from_batches(listed), errand.request.batch)) if listed else b""
        yield from _answers(errand, errand.to(_partition() if lane is None else lane), body, [], started)

    return courier


def later_stage(
    errand: Errand, lane: int | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The courier of the rows that lanes hand on to `lane`; None: to the lane that the Spark task stands for."""

    def courier(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.thread_time() if lane is None else None
        rows = [row for batch in batches for row in batch.to_pylist()]
        own = _partition() if lane is None else lane
        controls = [json.loads(r["body"]) for r in rows if r["kind"] == "control"]
        mine = next(c for c in controls if c["lane"] == own)
        earlier = [a["attempt"] for a in mine["attempts"]]
        tables = [from_bytes(r["body"]) for r in rows if r["kind"] == "rows"]
        body = to_bytes(pa.concat_tables(_in_order(tables), promote_options="default")) if tables else b""
        progress = {**errand.request.progress, **errand.request.until, **_least(controls)}
        request = replace(errand.to(own), before=earlier[-1], earlier=tuple(earlier), progress=progress, until={})
        yield from _answers(errand, request, body, mine["attempts"], started)

    return courier


def _placed(table: pa.Table, batch: int) -> pa.Table:
    """The rows with their place in the total order: where the gate has not said it, batch, split and row in the split,
    packed in 63 bits."""
    if "_seq" in table.column_names:
        return table.drop_columns(["_lane"])
    row = table.column("_row").to_numpy()
    split, inside = row >> SPARK_BITS, row & ((1 << SPARK_BITS) - 1)
    if len(row) and (int(split.max()) >> SPLIT_BITS or int(inside.max()) >> ROW_BITS):
        raise RuntimeError(f"{FAILURE}a batch has more than {1 << SPLIT_BITS} splits or {1 << ROW_BITS} rows in one")
    base = (batch % (1 << BATCH_BITS)) << (SPLIT_BITS + ROW_BITS)
    return table.drop_columns(["_lane", "_row"]).append_column("_seq", pa.array(base + (split << ROW_BITS) + inside))


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _in_order(tables: list[pa.Table]) -> list[pa.Table]:
    """Tables in an order that does not depend on how Spark delivered them."""
    return sorted(tables, key=to_bytes)


def _least(controls: list[dict[str, Any]]) -> dict[str, int]:
    """The progress of each result that is handed on: the least of those who make it."""
    least: dict[str, int] = {}
    for name, progress in (item for c in controls for item in c["progress"].items()):
        least[name] = min(progress, least.get(name, progress))
    return least


def _answers(
    errand: Errand, request: Request, body: bytes, earlier: list[Any], started: float | None
) -> Iterator[pa.RecordBatch]:
    head, content = _ask(request, body)
    own_s = 0.0 if started is None else time.thread_time() - started
    head["attempt"]["counters"]["courier_s"] = round(own_s, 6)
    attempts = [*earlier, head["attempt"]]
    if errand.last:
        yield _batch([(request.lane, "attempt", json.dumps(attempts).encode())])
        return
    control = json.dumps({"lane": request.lane, "attempts": attempts, "progress": head["progress"]}).encode()
    yield _batch([(lane, "control", control) for lane in range(request.lanes)])
    for lane, rows in handed_of(content):
        yield _batch([(lane, "rows", rows)])


def _batch(rows: list[tuple[int, str, bytes]]) -> pa.RecordBatch:
    lanes, kinds, bodies = zip(*rows, strict=True)
    arrays = [pa.array(lanes, pa.int64()), pa.array(kinds, pa.string()), pa.array(bodies, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["lane", "kind", "body"])


def _ask(request: Request, body: bytes) -> tuple[dict[str, Any], bytes]:
    """The server's answer; a server that dies meanwhile is replaced once, and asked for an attempt of its own."""
    for rest in reversed(range(TRIES)):
        try:
            return _converse(replace(request, attempt=uuid.uuid4().hex[:12]), body)
        except (EOFError, ConnectionError, FileNotFoundError):
            if not rest:
                raise RuntimeError(f"{FAILURE}the process of lane {request.lane} died twice on one batch") from None
    raise AssertionError("unreachable")


def _converse(request: Request, body: bytes) -> tuple[dict[str, Any], bytes]:
    with _connected(socket_path(request.run, request.lane)) as connection, connection.makefile("rwb") as stream:
        send(stream, head_of(request), body)
        head, content = receive(stream)
    if "error" in head:
        raise RuntimeError(FAILURE + head["error"] + ("\n" + head["trace"] if "trace" in head else ""))
    return head, content


def _connected(path: Path) -> Any:
    try:
        return connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        _start(path)
        return connect(path)


def _start(path: Path) -> None:
    """Starts the server that listens at `path`, unless another courier is just doing so."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _listens(path):
            return
        path.unlink(missing_ok=True)
        with open(path.with_suffix(".log"), "ab") as log:
            command = [sys.executable, "-P", "-m", "penstock.spark.lanes.server", str(path)]
            server = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment()
            )
        deadline = time.monotonic() + START_S
        while not _listens(path):
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{FAILURE}the process of a lane did not start; see {path.with_suffix('.log')}")
            time.sleep(0.01)


def _listens(path: Path) -> bool:
    try:
        connect(path).close()
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    return True


def _environment() -> dict[str, str]:
    """The worker's environment, with its module path: the server must find this package where the worker did, but as
    files, beside which kernels can be kept."""
    places = [unpacked(), *sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in places if p)}
