"""Keeps one lane's share at the state that a request asks for, and writes what an attempt leaves behind.

The state in memory is trusted only if it comes from the very attempt that was committed. Otherwise it is thrown away
and made again: the last snapshot is read, and the logs of the committed batches since are run through it.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from penstock.errors import Diagnostic, PenstockError
from penstock.spark.functions import install
from penstock.spark.generations import Registered
from penstock.spark.lanes.container import pack, unpack
from penstock.spark.lanes.counters import StageCounters, Watch
from penstock.spark.lanes.protocol import Request
from penstock.spark.lanes.share import Made, Share
from penstock.spark.lanes.wire import dead_letters, from_bytes, to_bytes, verdicts
from penstock.spark.stages import Staged, staged
from penstock.spark.state.files import RESTORE, Damaged, Folder
from penstock.spark.state.records import Attempt, Records

SMALLEST_SNAPSHOT: Final = 4 << 20
"""Bytes of log below which no snapshot is worth its write."""
SNAPSHOT_EVERY: Final = 128
"""Stages of batches after which one is written all the same, so that records and logs can be deleted."""


class Keeper:
    """Lane `request.lane` of a run; `at` is the attempt that the state in memory comes from, None for none."""

    def __init__(self, request: Request) -> None:
        self.checkpoint = Folder(request.checkpoint)
        self.folder = self.checkpoint.sub("lanes", str(request.lane))
        self.network = request.network
        self.lanes = request.lanes
        self.lane = request.lane
        self.functions = request.functions
        install(self.checkpoint, self.functions)
        self.share = self._fresh(self.network)
        self.counters = StageCounters(self.share.staged, self.share.plans)
        self.at: str | None = None
        self._logged = self._snapshot_bytes = self._runs = 0

    def fits(self, request: Request) -> bool:
        """True where this keeper can serve `request` at all."""
        mine = (self.checkpoint.name, self.network, self.lanes, self.lane, self.functions)
        return mine == (request.checkpoint, request.network, request.lanes, request.lane, request.functions)

    def run(self, request: Request, body: bytes) -> tuple[Attempt, Made]:
        """Runs a stage of a batch on the state that it must start from, and writes its log and results."""
        if self.at != request.before or (request.before is None and self._touched()):
            self._rebuild(request)
        self.at = None
        watch = Watch()
        tables = [from_bytes(body)] if body else []
        self.share.adopt(request.plan)
        made = self.share.run(request.stage, tables, request.progress, request.until)
        watch.lap("lanes")
        name = _file(request.batch, request.stage, request.attempt)
        pieces = {"head": _head(request), "log": body}
        dead = dead_letters(tables[0]) if tables else None
        if dead is not None:
            pieces[_DEAD] = to_bytes(dead)
        pieces |= {_RESULT + query: to_bytes(table) for query, table in made.results.items()}
        self.folder.write(name, pack(pieces))
        self._logged += len(body)
        self._runs += 1
        self.at = request.attempt
        attempt = self._attempt(request, name, tables, made, _reasons(dead))
        watch.lap("state")
        return replace(attempt, counters={**attempt.counters, **watch.read()}), made

    def _touched(self) -> bool:
        """True where the share is not the one that a run starts with."""
        return self.at is not None or self._logged > 0

    def _attempt(
        self, request: Request, name: str, tables: list[pa.Table], made: Made, malformed: Counter[tuple[str, str]]
    ) -> Attempt:
        counters = {
            "rows_in": sum(made.entries.values()) if request.stage == 0 else sum(t.num_rows for t in tables),
            "crossed": sum(t.num_rows for t in tables),
            "malformed": [[stream, reason, n] for (stream, reason), n in malformed.items()],
            "rows_out": {q: t.num_rows for q, t in made.results.items()},
            "late": {s: list(c) for s, c in self.share.late().items() if any(c)},
            "seen": made.seen,
            "waiting": not self.share.closed,
            "due": made.due,
            "entries": made.entries,
            "held": self.share.held(),
            "verdicts": verdicts(tables[0]) if tables and request.stage == 0 else {},
            **self.counters.since(self.share, request.stage),
        }
        lane = f"{request.stage}.{request.lane}"
        return Attempt(lane, request.attempt, name, tuple(made.results), self._snapshot(request), counters)

    def _snapshot(self, request: Request) -> str | None:
        """Writes the state where the log has outgrown the last one; amortised, a row is written twice."""
        last = request.stage == self.share.staged.stages - 1
        grown = self._logged > max(self._snapshot_bytes, SMALLEST_SNAPSHOT)
        if not last or not (grown or self._runs >= SNAPSHOT_EVERY):
            return None
        name = f"{request.batch:012d}-snapshot-{request.attempt}"
        content = pickle.dumps(self.share, pickle.HIGHEST_PROTOCOL)
        self.folder.write(name, content)
        self._logged, self._snapshot_bytes, self._runs = 0, len(content), 0
        return name

    def _staged(self, network: str) -> Staged:
        try:
            registered: Registered = pickle.loads(self.checkpoint.sub("networks").read(network))
        except (FileNotFoundError, Damaged) as error:
            help_ = "start with the script that it was made from, or with a new checkpoint folder"
            raise PenstockError(Diagnostic(f"the checkpoint's network cannot be read: {error}", help=help_)) from None
        return staged(registered, self.lanes)

    def _fresh(self, network: str) -> Share:
        return Share(self._staged(network), self.lane, network=network)

    def _turn(self, network: str) -> None:
        """Goes on under another script, if it is another."""
        if network != self.share.network:
            self.share = self.share.turned(self._staged(network), network)

    def _rebuild(self, request: Request) -> None:
        """The state after the attempt `request.before`, from what is on disk."""
        self.at, self._logged, self._snapshot_bytes, self._runs = None, 0, 0, 0
        history = self._history(request)
        self.share, rest = self._start(history)
        for name in [f for attempts in rest for f in attempts]:
            self._replay(name)
        self._turn(self.network)
        self.counters = StageCounters(self.share.staged, self.share.plans)
        for stage, attempt in enumerate(request.earlier):
            self._replay(_file(request.batch, stage, attempt))
        self.counters.forget(self.share)
        self.at = request.before

    def _history(self, request: Request) -> list[list[Attempt]]:
        """This lane's attempts in every committed batch before the requested one that is still kept, stage by stage."""
        records = Records(self.checkpoint)
        found: list[list[Attempt]] = []
        for batch in records.committed():
            commit = records.commit(batch) if batch < request.batch else None
            if commit is not None:
                if found and batch != self._batch_of(found[-1]) + 1:
                    raise _lost(self.folder, [f"the commit record before that of batch {batch} is missing"])
                mine = [a for a in commit.attempts if a.lane.partition(".")[2] == str(self.lane)]
                found.append(sorted(mine, key=lambda a: int(a.lane.partition(".")[0])))
        return found

    @staticmethod
    def _batch_of(attempts: list[Attempt]) -> int:
        return int(attempts[0].file.partition("-")[0])

    def _start(self, history: list[list[Attempt]]) -> tuple[Share, list[list[str]]]:
        """The state to start from, and the files of the batches after it: the newest snapshot that can be read."""
        problems = []
        for i in range(len(history) - 1, -1, -1):
            for name in [a.snapshot for a in history[i] if a.snapshot is not None]:
                try:
                    share: Share = pickle.loads(self.folder.read(name))
                except (Damaged, FileNotFoundError, pickle.UnpicklingError, AttributeError, ImportError) as error:
                    problems.append(_said(name, error))
                    continue
                return share, _files(history[i + 1 :])
        if history and not history[0][0].file.startswith(f"{0:012d}-"):
            raise _lost(self.folder, problems or ["there is no snapshot, and the logs do not reach back to the start"])
        return self._fresh(self._first_network(history)), _files(history)

    def _first_network(self, history: list[list[Attempt]]) -> str:
        """The script that the first batch of `history` ran."""
        record = None if not history else Records(self.checkpoint).plan(self._batch_of(history[0]))
        return self.network if record is None else record.network

    def _replay(self, name: str) -> None:
        """Runs a logged attempt through the state again; what it makes has been delivered or will be made again."""
        try:
            pieces = unpack(self.folder.read(name))
        except (Damaged, FileNotFoundError) as error:
            raise _lost(self.folder, [_said(name, error)]) from None
        head = json.loads(pieces["head"])
        log = pieces["log"]
        self._turn(head["network"])
        self.share.adopt(head.get("plan", ""))
        self.share.run(head["stage"], [from_bytes(log)] if log else [], head["progress"], head.get("until"))
        self._logged += len(log)
        self._runs += 1


_RESULT: Final = "result "
_DEAD: Final = "dead letters"


def _reasons(dead: pa.Table | None) -> Counter[tuple[str, str]]:
    """How many malformed rows of each stream there are for each reason."""
    return Counter() if dead is None else Counter((r["_stream"], r["_reason"]) for r in dead.to_pylist())


def dead_letters_of(folder: Folder, attempt: Attempt) -> pa.Table | None:
    """The malformed rows that came with an attempt's."""
    if not attempt.counters["malformed"]:
        return None
    return from_bytes(unpack(folder.read(attempt.file))[_DEAD])


def results_of(folder: Folder, attempt: Attempt) -> dict[str, pa.Table]:
    """What an attempt delivered, by query."""
    pieces = unpack(folder.read(attempt.file))
    return {n.removeprefix(_RESULT): from_bytes(c) for n, c in pieces.items() if n.startswith(_RESULT)}


def _file(batch: int, stage: int, attempt: str) -> str:
    return f"{batch:012d}-{stage}-{attempt}"


def _files(history: list[list[Attempt]]) -> list[list[str]]:
    return [[a.file for a in attempts] for attempts in history]


def _head(request: Request) -> bytes:
    head: dict[str, Any] = {"batch": request.batch, "stage": request.stage, "progress": dict(request.progress),
                            "plan": request.plan, "until": dict(request.until),
                            "network": request.network}  # fmt: skip
    return json.dumps(head).encode()


def _said(name: str, error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, Damaged) else f"{name}: {error}"


def _lost(folder: Folder, problems: list[str]) -> PenstockError:
    """State that can be made from nothing on disk: say so rather than give a wrong answer."""
    return PenstockError(Diagnostic(f"the state in {folder.name} cannot be rebuilt", None, tuple(problems), RESTORE))
