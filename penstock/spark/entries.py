"""Where rows come into a stage: one entry for each leaf of each fragment."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.lane.partition import Inlet
from penstock.plan.nodes import Source, Table
from penstock.plan.windows import BEGIN


@dataclass(frozen=True, slots=True)
class Entry:
    """One leaf of one fragment: the stream, relation or handed-on result `leaf`, whose rows go to lanes by `route`.

    `home` is the lane that gets all rows where there is no route; a stream's rows stamped before `born` are not seen,
    since the fragment's queries were added then, for batch `since`.
    """

    number: int
    fragment: int
    inlet: Inlet
    home: int
    born: int = BEGIN
    since: int = 0

    @property
    def leaf(self) -> Source | Table:
        """The leaf itself."""
        return self.inlet.leaf
