"""What the script has created so far, by name: streams, relations, views, queries and functions. Names are equal in any
case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from penstock.cql.binder.problems import Problems
from penstock.cql.grammar.syntax import Name
from penstock.errors import suggestion, unknown
from penstock.plan.node import Node


@dataclass(frozen=True, slots=True)
class Registered:
    """Something that FROM may name: `what` it is, its name as created, and how to bind it, as a stream or as a relation
    where it can be either.

    `bind` gives None for what could not be created; whoever created it has said why.
    """

    what: str
    name: str
    bind: Callable[[bool], Node | None]


@dataclass(slots=True)
class Catalog:
    """`sources` is what FROM may name, `queries` the names that queries took."""

    problems: Problems
    sources: dict[str, Registered] = field(default_factory=dict)
    queries: set[str] = field(default_factory=set)

    def register(self, name: Name, what: str, bind: Callable[[bool], Node | None]) -> None:
        """Gives `name` a meaning, or reports that it has one."""
        taken = self.sources.get(name.text.lower())
        if taken is not None and taken.what != "broken":
            self.problems.report(
                f"there is a {taken.what} named '{taken.name}' already", name.span, help="choose another name"
            )
            return
        self.sources[name.text.lower()] = Registered(what, name.text, bind)

    def broken(self, name: str) -> None:
        """Remembers the name of what could not be created, so that nobody complains of its absence."""
        self.sources.setdefault(name.lower(), Registered("broken", name, lambda as_relation: None))

    def find(self, name: Name) -> Registered | None:
        """What `name` means in FROM; where it means nothing, that is reported."""
        found = self.sources.get(name.text.lower())
        if found is None:
            self._report_unknown(name)
        return found

    def relation_named(self, name: str) -> str | None:
        """The name, as created, of the relation that a function's argument names."""
        found = self.sources.get(name.lower())
        return found.name if found is not None and found.what == "relation" else None

    def _report_unknown(self, name: Name) -> None:
        known = [s.name for s in self.sources.values() if s.what != "broken"]
        found = unknown("stream or relation", name.text, known, name.span)
        if found.help is None:
            found = replace(found, help=suggestion(name.text, [s.name for s in self.sources.values()]))
        if name.text.lower() in self.queries:
            self.problems.report(
                f"'{name.text}' is a query, and FROM reads none",
                name.span,
                found.notes,
                "make it a view: CREATE VIEW ... AS ...",
            )
            return
        self.problems.add(found)
