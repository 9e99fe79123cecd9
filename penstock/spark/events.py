"""The event log of a run: every snapshot, proposal and decision as a line of JSON under the checkpoint.

Nodes are named by their places in the network, which the first line of every file lists. Operators that did nothing
since the line before are left out. Old files go: the log tells of the last hours, not of all time.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import IO, Any, Final

from pyarrow import fs

from penstock.control.gains import Gain
from penstock.control.loop import Decision
from penstock.plan.drops import Location
from penstock.plan.node import Node
from penstock.plan.running import Plan
from penstock.spark.plans import Plans
from penstock.spark.state.files import Folder
from penstock.stats.snapshot import OperatorStatistics, Snapshot

FILE_BYTES: Final = 32 << 20
FILES: Final = 8
FLUSH_S: Final = 1.0
"""How often lines reach a file system that cannot append: each time is a file of its own."""


class Lines:
    """Files of JSON lines in `folder`, created with the first line; `lines` counts what was written."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.lines = 0
        self._stream: IO[str] | None = None
        self._flushed = 0.0

    def write(self, event: Mapping[str, Any]) -> None:
        """Adds a line, with the time."""
        stream = self._stream or self._open()
        stream.write(json.dumps({"at": round(time.time(), 3), **event}, default=str) + "\n")
        self.lines += 1
        if not isinstance(stream, io.StringIO):
            stream.flush()
        if stream.tell() > FILE_BYTES or (
            isinstance(stream, io.StringIO) and time.monotonic() - self._flushed > FLUSH_S
        ):
            self.close()

    def _open(self) -> IO[str]:
        system, path = self.folder.open()
        local = isinstance(system, fs.LocalFileSystem)
        if local:
            system.create_dir(path, recursive=True)
        self._stream = open(self._path(path), "a", encoding="utf-8") if local else io.StringIO()  # noqa: SIM115
        self._begin(self._stream)
        return self._stream

    def _begin(self, stream: IO[str]) -> None:
        """What every file begins with."""

    @staticmethod
    def _path(folder: str) -> str:
        return f"{folder}/{time.time_ns() // 1000:017d}.jsonl"

    def close(self) -> None:
        """Ends the file that is being written, and lets the oldest go."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        system, path = self.folder.open()
        if isinstance(stream, io.StringIO):
            system.create_dir(path, recursive=True)
            with system.open_output_stream(self._path(path)) as sink:
                sink.write(stream.getvalue().encode())
            self._flushed = time.monotonic()
        stream.close()
        for name in self.folder.names()[: -FILES if isinstance(system, fs.LocalFileSystem) else -FILES * 1000]:
            self.folder.remove(name)


class EventLog(Lines):
    """Everything that happened in a run."""

    def __init__(self, folder: Folder, plans: Plans) -> None:
        super().__init__(folder)
        self._plans = plans
        self._before: dict[Node, OperatorStatistics] = {}

    def snapshot(self, snapshot: Snapshot, mode: str, plan: Plan) -> None:
        """A look at the run under `plan`, in `mode`."""
        told = _snapshot(snapshot, self._plans, self._before) | {"mode": mode, "plan": plan.number}
        self._before = {o.node: o for o in snapshot.operators}
        self.write(told)

    def gain(self, gain: Gain) -> None:
        """What a change has brought, beside what was expected of it."""
        self.write({"kind": "gain", **asdict(gain), "measured": gain.measured})

    def decision(self, decision: Decision) -> None:
        """A proposal, and what became of it."""
        self.write({
            "kind": "decision", "snapshot": decision.snapshot, "strategy": decision.strategy,
            "change": _shown(decision.proposal.change, self._plans), "why": decision.proposal.why,
            "gain": decision.proposal.gain, "refused": decision.refused, "plan": decision.plan,
        })  # fmt: skip

    def note(self, kind: str, **what: Any) -> None:
        """Anything else: a mode that was switched, a plan that was taken up again."""
        self.write({"kind": kind, **what})

    def _begin(self, stream: IO[str]) -> None:
        nodes = [n.label for n in self._plans.network.nodes()]
        stream.write(json.dumps({"at": round(time.time(), 3), "kind": "network", "nodes": nodes}) + "\n")
        self._before = {}


class AccountLog(Lines):
    """What each query got and lost, a line for each query and batch: to be kept beside the answers."""

    def snapshot(self, snapshot: Snapshot, mode: str) -> None:
        """The accounts of one batch."""
        number = None if snapshot.batch is None else snapshot.batch.number
        for account in snapshot.accounts:
            self.write({"batch": number, "mode": mode, **asdict(account), "lost": account.lost})


def _snapshot(s: Snapshot, plans: Plans, before: Mapping[Node, OperatorStatistics]) -> dict[str, Any]:
    did = [o for o in s.operators if before.get(o.node) != o]
    batch = None
    if s.batch is not None:
        delays = {d.query: [d.results, d.mean_s, d.p50_s, d.p99_s, d.largest_s] for d in s.batch.delays}
        batch = {"number": s.batch.number, "rows_in": s.batch.rows_in, "seconds": dict(s.batch.seconds),
                 "processor_s": s.batch.processor_s, "delays": delays}  # fmt: skip
    return {
        "kind": "snapshot", "number": s.number, "now_s": round(s.now_s, 6), "batch": batch,
        "operators": [[plans.place(o.node), o.rows_in, o.rows_out, o.runs, round(o.busy_s, 6), o.queued, o.state_bytes]
                      for o in did],
        "streams": [[t.name, t.rows, t.late_kept, t.late_dropped, t.waiting, t.progress, t.rate] for t in s.streams],
        "drops": [[str(d.location), d.reason, d.rows_in, d.dropped] for d in s.drops],
        "accounts": [asdict(a) | {"lost": a.lost} for a in s.accounts],
        "overload": None if s.overload is None else asdict(s.overload),
        "store_bytes": s.store_bytes, "set_aside": dict(s.set_aside), "shut_down": list(s.shut_down),
    }  # fmt: skip


def _shown(change: Any, plans: Plans) -> Any:
    """A change for readers: its name, and its fields with locations and nodes by their labels."""
    return {"is": type(change).__name__, **{n: _plain(getattr(change, n)) for n in change.__dataclass_fields__}}


def _plain(value: Any) -> Any:
    if isinstance(value, Location):
        return str(value)
    if isinstance(value, Node):
        return value.label
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
