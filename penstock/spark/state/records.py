"""The two records of a batch: the plan before it, the commit after it.

A **plan record** fixes what a batch computes: which network, how far each stream's progress is, where its drops are.
It is durable before the batch starts and never changes: a batch that is run again after a crash runs under the same
record. A
**commit record** names, for every lane of every fragment, the attempt whose files count. A batch has happened when its
commit record is there; everything else is either named by one or litter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from penstock.spark.state.files import Damaged, Folder

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """What batch `batch` runs.

    network     fingerprint of the registered network, under which `networks/` keeps its script
    source      the number that Spark gave the source's rows; None for a batch without any
    progress    for every stream, the instant before which nothing further is stamped
    lanes       the number of lanes
    plan        the plan in force, as `penstock.spark.plans` writes it
    """

    batch: int
    source: int | None
    network: str
    progress: Mapping[str, int]
    lanes: int
    plan: str = ""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Attempt:
    """One lane's part in a stage of a batch: the files it wrote and what it counted.

    lane      `stage.lane`
    file      the rows that came in and the elements that came out
    queries   those that have elements in it
    snapshot  the lane's state after this batch, where one was written
    """

    lane: str
    attempt: str
    file: str
    queries: tuple[str, ...] = ()
    snapshot: str | None = None
    counters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """What became of batch `batch`: one attempt for each lane and stage.

    source       the number that Spark gave its rows; None where there were none
    seen         the largest timestamp seen on each stream so far
    progress     the progress that it ran with
    last_source  the last number of Spark's that has been committed, -1 for none
    """

    batch: int
    source: int | None
    attempts: tuple[Attempt, ...]
    seen: Mapping[str, int] = field(default_factory=dict)
    progress: Mapping[str, int] = field(default_factory=dict)
    last_source: int = -1
    format: int = FORMAT


def file_of(batch: int) -> str:
    """The name of a batch's record.

    >>> file_of(12)
    '000000000012.json'
    """
    return f"{batch:012d}.json"


def batch_of(name: str) -> int:
    """The inverse of `file_of`."""
    return int(name.partition(".")[0])


class Records:
    """The plan and commit records under a checkpoint."""

    def __init__(self, checkpoint: Folder) -> None:
        self.plans = checkpoint.sub("plans")
        self.commits = checkpoint.sub("commits")

    def plan(self, batch: int) -> PlanRecord | None:
        """The plan record of `batch`, if it was made."""
        read = _read(self.plans, file_of(batch))
        return None if read is None else PlanRecord(**read)

    def put_plan(self, record: PlanRecord) -> None:
        """Makes `record` durable."""
        self.plans.write(file_of(record.batch), _bytes(record))

    def commit(self, batch: int) -> CommitRecord | None:
        """The commit record of `batch`, if it has happened."""
        read = _read(self.commits, file_of(batch))
        if read is None:
            return None
        attempts = tuple(Attempt(**a) for a in read.pop("attempts"))
        return CommitRecord(attempts=attempts, **read)

    def put_commit(self, record: CommitRecord) -> None:
        """Makes the batch happen."""
        self.commits.write(file_of(record.batch), _bytes(record))

    def committed(self) -> list[int]:
        """The batches that have happened and whose records are kept, in order."""
        return [batch_of(n) for n in self.commits.names()]


def _bytes(record: PlanRecord | CommitRecord) -> bytes:
    return json.dumps(asdict(record), sort_keys=True).encode()


def _read(folder: Folder, name: str) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(folder.read(name))
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        raise Damaged(f"{name}: {error}") from None
    return content
