"""The checkpoint folder of a run: who holds it, which network it belongs to, its records, and what may be deleted.

format.json      the format, the run's identity, the number of lanes
lock             who runs on it: host, process, since when
networks/        each script that has run, by fingerprint
functions/       the users' Python functions of the newest run
plans/ commits/  the records of batches
lanes/<n>/       a lane's logs, results and snapshots
inbox/           the rows of a batch that Spark has finished and the lanes have not
spark/           Spark's own offset log
"""

from __future__ import annotations

import json
import pickle
import uuid
from typing import Any, Final

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network
from penstock.plan.windows import BEGIN
from penstock.spark.functions import ship
from penstock.spark.generations import Registered, changed, first
from penstock.spark.lanes.protocol import socket_path
from penstock.spark.state.files import RESTORE, Folder
from penstock.spark.state.inbox import Inbox
from penstock.spark.state.lock import Lock
from penstock.spark.state.records import Attempt, CommitRecord, Records, batch_of

FORMAT: Final = 2
CLEAN_EVERY: Final = 64
"""Batches between two looks for what may be deleted."""


class Checkpoint:
    """The folder `name`, opened for `network` on `lanes` lanes; `lanes` of an older run win, since its keys are
    dealt. `run` is the identity of a new one: checkpoints that have one in common have their lanes' servers in
    common. `lock` is the folder's, where the caller holds it already."""

    def __init__(
        self, name: str, network: Network, lanes: int, run: str | None = None, lock: Lock | None = None
    ) -> None:
        self.folder = Folder(name).absolute
        self._lock = lock or Lock(self.folder)
        self.records = Records(self.folder)
        written = self.written(self.folder)
        if written is None:
            written = {"format": FORMAT, "run": run or uuid.uuid4().hex, "lanes": lanes}
            self.folder.write("format.json", json.dumps(written).encode())
        self.run: str = written["run"]
        self.lanes: int = written["lanes"]
        self.registered = self._register(network)
        self.network = self.registered.name
        self.functions = ship(self.folder)

    @staticmethod
    def written(folder: Folder) -> dict[str, Any] | None:
        """What `format.json` in a folder says; None where no run has been there."""
        try:
            written: dict[str, Any] = json.loads(folder.read("format.json"))
        except FileNotFoundError:
            return None
        if written["format"] != FORMAT:
            help_ = "run it with the version that wrote it, or start with a new checkpoint folder"
            raise PenstockError(Diagnostic(f"the checkpoint has format {written['format']}, not {FORMAT}", help=help_))
        return written

    def _register(self, network: Network) -> Registered:
        """What runs from now on: the script as it is kept, or what becomes of it when it has changed."""
        last = self.last()
        self._whole(last)
        record = None if last is None else self.records.plan(last.batch)
        before = None if record is None else kept(self.folder, record.network)
        if last is None or before is None:
            registered = first(network)
        else:
            registered = changed(before, network, max(last.seen.values(), default=BEGIN) + 1, last.batch + 1)
        if registered.name not in self.folder.sub("networks").names():
            self.folder.sub("networks").write(registered.name, pickle.dumps(registered, pickle.HIGHEST_PROTOCOL))
        return registered

    def _whole(self, last: CommitRecord | None) -> None:
        """Refuses a folder whose newest commit records are gone: Spark would not give their rows again."""
        taken = [int(n) for n in self.folder.sub("spark", "commits").names() if n.isdigit()]
        letter = Inbox(self.folder).get(0 if last is None else last.batch + 1)
        held = -1 if letter is None else letter.source
        if taken and max(taken) > max(held, -1 if last is None else last.last_source):
            what = f"commit records are missing in {self.folder.name}: Spark has finished its batch {max(taken)}"
            newest = "there is none" if last is None else f"the newest here is of Spark's batch {last.last_source}"
            raise PenstockError(Diagnostic(what, notes=(newest,), help=RESTORE))

    def beat(self) -> None:
        """Says that the run goes on."""
        self._lock.beat()

    def unlock(self) -> None:
        """Ends the use of the folder."""
        self._lock.release()

    def end_servers(self) -> None:
        """Lets the lanes' servers on this machine end: their sockets' files are taken away."""
        for lane in range(self.lanes):
            socket_path(self.run, lane).unlink(missing_ok=True)

    def last(self) -> CommitRecord | None:
        """The last batch that has happened."""
        return newest(self.records)

    def lane(self, attempt: Attempt) -> Folder:
        """Where the files of an attempt lie."""
        return self.folder.sub("lanes", attempt.lane.partition(".")[2])

    def clean(self, last: CommitRecord) -> None:
        """Deletes, now and then, what no restart can need: all before the second newest snapshot of every lane."""
        if last.batch % CLEAN_EVERY:
            return
        commits = [c for c in (self.records.commit(b) for b in self.records.committed()) if c is not None]
        needed = {lane: _second_snapshot(commits, lane) for lane in range(self.lanes)}
        for lane, batch in needed.items():
            folder = self.folder.sub("lanes", str(lane))
            for name in folder.names():
                if batch_of(name.replace("-", ".")) < batch:
                    folder.remove(name)
        oldest = min(needed.values())
        for records in (self.records.plans, self.records.commits):
            for name in records.names():
                if batch_of(name) < oldest:
                    records.remove(name)


def kept(checkpoint: Folder, name: str) -> Registered | None:
    """A script that has run on a checkpoint."""
    try:
        registered: Registered = pickle.loads(checkpoint.sub("networks").read(name))
    except FileNotFoundError:
        return None
    return registered


def newest(records: Records) -> CommitRecord | None:
    """The last batch that has happened."""
    committed = records.committed()
    return records.commit(committed[-1]) if committed else None


def _second_snapshot(commits: list[CommitRecord], lane: int) -> int:
    """The batch of a lane's second newest snapshot; 0 where it has none to spare."""
    ends = [c.batch for c in commits for a in c.attempts if a.snapshot and a.lane.endswith(f".{lane}")]
    return ends[-2] if len(ends) > 1 else 0
