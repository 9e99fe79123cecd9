"""Users' Python functions on their way to the lanes, and what is done when they fail on a row.

A lane's process starts without them: the run writes them into the checkpoint by value, as they are when it starts, so
that a function mended between two runs is the mended one from then on. A row on which a function raises is set aside
and counted; a query WITH (on_error = 'stop') would rather end the run, before the batch is committed.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Iterable
from typing import Any

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.expressions import Call, Column, Literal
from penstock.plan.expressions import walk as parts
from penstock.plan.functions import user_functions
from penstock.plan.network import Network, Query
from penstock.plan.node import walk
from penstock.spark.state.files import Folder
from penstock.spark.state.records import Attempt

FOLDER = "functions"


def ship(checkpoint: Folder) -> str:
    """Writes what users have registered in this process under the checkpoint, in the place of what an earlier run has
    written; the name that it has there, nothing where there is none."""
    from pyspark import cloudpickle  # lanes install functions without it, and start sooner

    entries, folder = user_functions.entries(), checkpoint.sub(FOLDER)
    if not entries:
        return ""
    dumps: Any = cloudpickle.dumps
    content: bytes = dumps(entries)
    name = hashlib.sha256(content).hexdigest()[:16]
    old = folder.names()
    if name not in old:
        folder.write(name, content)
    for other in old:
        if other != name:
            folder.remove(other)
    return name


def install(checkpoint: Folder, name: str) -> None:
    """Registers in this process what `ship` has written."""
    if name:
        user_functions.install(pickle.loads(checkpoint.sub(FOLDER).read(name)))


def called(query: Query) -> frozenset[str]:
    """The users' functions and aggregates that `query` calls."""
    names: set[str] = set()
    for node in walk(query.root):
        for field in node.__dataclass_fields__:
            names.update(_named(getattr(node, field)))
    return frozenset(names & {*user_functions.functions, *user_functions.aggregates})


def _named(value: object) -> Iterable[str]:
    if isinstance(value, Call | Column | Literal):
        return (p.function for p in parts(value) if isinstance(p, Call))
    if isinstance(value, tuple | list):
        return (name for item in value for name in _named(item))
    function = getattr(value, "function", None)
    return (function,) if isinstance(function, str) else ()


class OnError:
    """What the queries of `network` want done when a function fails on a row: `stop` names, for a function, the queries
    that want an end."""

    def __init__(self, network: Network) -> None:
        self.stop: dict[str, list[str]] = {}
        for query in network.queries:
            if str(dict(query.options).get("on_error", "")).lower() == "stop":
                for function in called(query):
                    self.stop.setdefault(function, []).append(query.name)

    def judge(self, attempts: Iterable[Attempt]) -> None:
        """Raises where a batch has rows set aside by a function that a query wants to stop for."""
        counts: Counter[str] = Counter()
        for attempt in attempts if self.stop else ():
            counts.update(attempt.counters["set_aside"])
        mistakes = [self._mistake(f, n) for f, n in sorted(counts.items()) if n and f in self.stop]
        if mistakes:
            raise PenstockError(*mistakes)

    def _mistake(self, function: str, count: int) -> Diagnostic:
        rows = "a row" if count == 1 else f"{count:,} rows"
        queries = ", ".join(f"'{q}'" for q in self.stop[function])
        return Diagnostic(
            f"the function '{function}' failed on {rows}, and on_error = 'stop' is what {queries} asked for",
            notes=("nothing of the batch was delivered or committed",),
            help="mend the function and run again: the run continues with this batch; or on_error = 'set_aside'",
        )
