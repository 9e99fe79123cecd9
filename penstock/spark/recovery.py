"""What a restart from a checkpoint will do, said without doing it: `penstock run --explain-recovery`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network
from penstock.plan.windows import BEGIN
from penstock.spark.functions import FOLDER, install
from penstock.spark.generations import Registered, changed
from penstock.spark.state.checkpoint import Checkpoint, kept, newest
from penstock.spark.state.files import Folder
from penstock.spark.state.inbox import Inbox
from penstock.spark.state.records import Attempt, CommitRecord, Records


@dataclass(frozen=True, slots=True)
class _Lane:
    """What one lane's state is made again from."""

    snapshot: int | None
    batches: int
    rows: int


def recovery(folder: str, network: Network | None) -> str:
    """What becomes of the checkpoint when `network` (None: the script that it has) is run on it."""
    checkpoint = Folder(folder)
    written = Checkpoint.written(checkpoint)
    records = Records(checkpoint)
    listed = records.committed()
    last = records.commit(listed[-1]) if listed else None
    if written is None:
        raise _none(folder)
    lines = [f"checkpoint {folder}: run {written['run'][:12]}, {written['lanes']} lanes"]
    if last is None:
        return "\n".join([*lines, "no batch has been committed: the run starts from the beginning"])
    lines += [f"batches: {last.batch + 1:,} committed, the last at Spark's batch {last.last_source}"]
    lines += _script(checkpoint, records, last, network)
    lines += _again(checkpoint, records, last)
    for lane in range(written["lanes"]):
        lines.append(_said(lane, _lane(records, listed, lane)))
    queries = sorted({q for a in last.attempts for q in a.queries})
    given = f"those of {', '.join(queries)}" if queries else "it has none"
    again = f"sinks: the results of batch {last.batch} are handed on again, in case they were not: {given}"
    return "\n".join([*lines, again])


def beginning(folder: str) -> str:
    """What a run on the checkpoint does before its first batch."""
    records = Records(Folder(folder))
    listed = records.committed()
    last = records.commit(listed[-1]) if listed else None
    if last is None:
        return "starting"
    most = max((_lane(records, listed, int(n)) for n in {a.lane.partition(".")[2] for a in last.attempts}),
               key=lambda lane: lane.rows)  # fmt: skip
    logs = f"{most.rows:,} rows of {most.batches:,} batches are run again" if most.rows else "nothing is run again"
    return f"starting after batch {last.batch:,}: {logs}"


def kept_network(folder: str) -> Network:
    """The script that a checkpoint runs, with its functions."""
    checkpoint = Folder(folder)
    last = newest(Records(checkpoint))
    record = None if last is None else Records(checkpoint).plan(last.batch)
    registered = None if record is None else kept(checkpoint, record.network)
    if registered is None:
        raise _none(folder)
    for name in checkpoint.sub(FOLDER).names():
        install(checkpoint, name)
    return registered.network


def unfinished(checkpoint: Folder) -> Network | None:
    """The script of the batch over which a run was killed after Spark had gone on; None where there is no such."""
    records = Records(checkpoint)
    last = newest(records)
    number = 0 if last is None else last.batch + 1
    record = records.plan(number) if Inbox(checkpoint).get(number) is not None else None
    registered = None if record is None else kept(checkpoint, record.network)
    return None if registered is None else registered.network


def _none(folder: str) -> PenstockError:
    help_ = "give the folder that an earlier run had as --checkpoint, or run without --from-checkpoint"
    return PenstockError(Diagnostic(f"there is no run to continue in {folder}", help=help_))


def _script(checkpoint: Folder, records: Records, last: CommitRecord, network: Network | None) -> Iterator[str]:
    record = records.plan(last.batch)
    before = None if record is None else kept(checkpoint, record.network)
    if before is None or network is None:
        yield "script: the checkpoint's own"
        return
    after = changed(before, network, max(last.seen.values(), default=BEGIN) + 1, last.batch + 1)
    yield from _difference(before, after)


def _difference(before: Registered, after: Registered) -> Iterator[str]:
    old, new = ({q.name for q in r.network.queries} for r in (before, after))
    if old == new:
        yield "script: the same queries"
    for name in sorted(new - old):
        yield f"script: '{name}' is added, and sees what is stamped after all that has come in so far"
    for name in sorted(old - new):
        yield f"script: '{name}' is removed, with its state"


def _again(checkpoint: Folder, records: Records, last: CommitRecord) -> Iterator[str]:
    """The batch that was under way, and what Spark will read again."""
    planned = records.plan(last.batch + 1)
    held = Inbox(checkpoint).get(last.batch + 1)
    if held is not None:
        rows = sum(b.num_rows for b in held.rows)
        yield f"batch {held.batch} was taken from Spark and not committed: its {rows:,} rows are kept, and run first"
    elif planned is not None:
        yield f"batch {planned.batch} was planned and not committed: it runs again, under the same plan and progress"
    offsets = [int(n) for n in checkpoint.sub("spark", "offsets").names() if n.isdigit()]
    if offsets and max(offsets) > (last.last_source if held is None else held.source):
        yield f"sources: Spark's batch {max(offsets)} is read again from its offset log, the same rows"
    else:
        yield "sources: read on where the last batch ended; nothing is read again"


def _lane(records: Records, batches: list[int], lane: int) -> _Lane:
    """The newest snapshot, and the batches after it whose logs are run through it."""
    rows = count = 0
    for batch in reversed(batches):
        mine = [a for a in _attempts(records, batch) if a.lane.partition(".")[2] == str(lane)]
        if any(a.snapshot for a in mine):
            return _Lane(batch, count, rows)
        count += 1
        rows += sum(a.counters["rows_in"] for a in mine if a.lane.startswith("0."))
    return _Lane(None, count, rows)


def _attempts(records: Records, batch: int) -> tuple[Attempt, ...]:
    commit = records.commit(batch)
    return () if commit is None else commit.attempts


def _said(lane: int, found: _Lane) -> str:
    start = "from the beginning" if found.snapshot is None else f"from the snapshot of batch {found.snapshot}"
    batches = f"{found.batches:,} batch{'' if found.batches == 1 else 'es'}"
    return f"lane {lane}: state {start}, then the logs of {batches}, {found.rows:,} rows"
