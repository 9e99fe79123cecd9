"""Statements: what they register, in the order of the script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.cql.binder.catalog import Catalog
from penstock.cql.binder.options import connector_options, query_options
from penstock.cql.binder.outputs import project
from penstock.cql.binder.problems import Problems
from penstock.cql.binder.pythons import load_function
from penstock.cql.binder.queries import QueryBinder
from penstock.cql.binder.windows import column_named
from penstock.cql.grammar.statements import Unread
from penstock.cql.grammar.syntax import (
    ColumnDefinition,
    ConnectorClause,
    CreateFunction,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateView,
    Name,
    Query,
    Statement,
)
from penstock.errors import PenstockError, Span
from penstock.plan import network as plan
from penstock.plan.estimates import estimated
from penstock.plan.expressions import Column
from penstock.plan.node import Kind, Node
from penstock.plan.nodes import Source, Table, Window
from penstock.plan.schema import Schema
from penstock.plan.windows import Rows

STAMPS = ("timestamp", "int", "bigint", "date")
"""The types of columns that can stamp a stream."""


@dataclass(slots=True)
class ScriptBinder:
    """Binds the statements of one script, one after the other. `folder` is where files named in the script lie."""

    problems: Problems
    folder: Path
    network: plan.Network = field(default_factory=plan.Network)
    bare: int = 0
    catalog: Catalog = field(init=False)
    queries: QueryBinder = field(init=False)

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.problems)
        self.queries = QueryBinder(self.catalog)
        for stream in self.network.streams:
            self._known(stream.name, "stream", Source(stream.name, stream.schema))
        for relation in self.network.relations:
            self._known(relation.name, "relation", Table(relation.name, relation.schema))
        self.catalog.queries.update(q.name.lower() for q in self.network.queries)

    def _known(self, name: str, what: str, node: Node) -> None:
        self.catalog.register(Name(name, Span(0, 0)), what, lambda as_relation: node)

    def bind(self, statement: Statement | Unread) -> None:
        """Registers what `statement` creates."""
        try:
            self._dispatch(statement)
        except PenstockError as error:
            for diagnostic in error.diagnostics:
                self.problems.add(replace(diagnostic, span=diagnostic.span or _span(statement)))
        except RecursionError:
            self.problems.report("this is nested too deeply", _span(statement), help="name its parts with CREATE VIEW")

    def _dispatch(self, statement: Statement | Unread) -> None:
        match statement:
            case Unread(diagnostic=diagnostic, name=name):
                self.problems.add(diagnostic)
                if name is not None:
                    self.catalog.broken(name)
            case CreateStream():
                self._create(statement.name, "stream", lambda: self._stream(statement))
            case CreateRelation():
                self._create(statement.name, "relation", lambda: self._relation(statement))
            case CreateView():
                self._view(statement)
            case CreateQuery():
                self._query(statement)
            case CreateFunction():
                load_function(statement, self.folder, self.problems)

    def _create(self, name: Name, what: str, make: Callable[[], Node | None]) -> None:
        node = make()
        self.catalog.register(name, what, lambda as_relation: node)

    def _stream(self, statement: CreateStream) -> Node | None:
        schema = self._schema(statement.columns)
        source = self._connector(statement.source)
        if schema is None:
            return None
        stamp = column_named(statement.timestamp, schema, self.problems) if statement.timestamp else None
        if stamp is not None and statement.timestamp and schema.type_of(stamp).name not in STAMPS:
            self.problems.report(
                f"'{stamp}', a {schema.type_of(stamp)}, stamps nothing",
                statement.timestamp.span,
                help="a stream is stamped by a TIMESTAMP, or by a BIGINT of microseconds",
            )
        made = plan.StreamDefinition(statement.name.text, schema, stamp, statement.within_us, statement.late, source)
        if statement.name.text.lower() not in self.catalog.sources:
            self.network = replace(self.network, streams=(*self.network.streams, made))
        return Source(statement.name.text, schema)

    def _relation(self, statement: CreateRelation) -> Node | None:
        schema = self._schema(statement.columns)
        if schema is None:
            return None
        if statement.stream is not None:
            return self._kept_current(statement, schema)
        made = plan.RelationDefinition(statement.name.text, schema, self._connector(statement.source))
        if statement.name.text.lower() not in self.catalog.sources:
            self.network = replace(self.network, relations=(*self.network.relations, made))
        return Table(statement.name.text, schema)

    def _kept_current(self, statement: CreateRelation, schema: Schema) -> Node | None:
        """CREATE RELATION ... FROM stream KEY (k): the last row of the stream for each key."""
        assert statement.stream is not None
        found = self.catalog.find(statement.stream)
        stream = found.bind(False) if found is not None else None
        if found is None or stream is None:
            return None
        if stream.kind is not Kind.STREAM:
            self.problems.report(f"'{found.name}' is a relation, and a stream is needed", statement.stream.span)
            return None
        outputs = [self._updated(c, stream.schema) for c in statement.columns]
        keys = [column_named(k, schema, self.problems) for k in statement.key]
        if any(o is None for o in outputs) or any(k is None for k in keys):
            return None
        columns = {f.name: o for f, o in zip(schema, outputs, strict=True) if o is not None}
        window = Window(stream, Rows(1, tuple(columns[k].name for k in keys if k is not None)))
        return project(window, list(columns.items()))

    def _updated(self, column: ColumnDefinition, stream: Schema) -> Column | None:
        name = column_named(column.name, stream, self.problems)
        if name is not None and stream.type_of(name) != column.type:
            self.problems.report(
                f"'{column.name.text}' is {stream.type_of(name)} in the stream",
                column.name.span,
                help=f"declare it {stream.type_of(name)}",
            )
            return None
        return Column(name, column.type) if name is not None else None

    def _schema(self, columns: tuple[ColumnDefinition, ...]) -> Schema | None:
        seen: set[str] = set()
        for column in columns:
            if column.name.text.lower() in seen:
                self.problems.report(
                    f"column name '{column.name.text}' occurs twice", column.name.span, help="give it another name"
                )
            seen.add(column.name.text.lower())
        return Schema.of((c.name.text, c.type) for c in columns) if len(seen) == len(columns) else None

    def _connector(self, clause: ConnectorClause | None, *, written: bool = False) -> plan.Connector | None:
        if clause is None:
            return None
        registered = self.catalog.sources.get(clause.format.text.lower())
        if registered is not None and not written and not clause.options:
            self.problems.report(
                f"'{clause.format.text}' is a {registered.what}, and FROM names a format here", clause.format.span,
                help="a relation kept current by a stream has a key: FROM stream KEY (column); a query makes a view",
            )  # fmt: skip
            return None
        return plan.Connector(clause.format.text.lower(), connector_options(clause, self.problems, written=written))

    def _view(self, statement: CreateView) -> None:
        bound: dict[bool, Node | None] = {False: self.queries.query(statement.query)}

        def bind(as_relation: bool) -> Node | None:
            if as_relation and as_relation not in bound:
                bound[True] = self._as_relation(statement.query) or bound[False] if bound[False] else None
            return bound[as_relation]

        self.catalog.register(statement.name, "view", bind)

    def _as_relation(self, query: Query) -> Node | None:
        """A view's query as a relation; what is wrong with it has been said when it was bound first."""
        return self.problems.quietly(lambda: self.queries.query(query, True))

    def _query(self, statement: CreateQuery) -> None:
        options = query_options(statement.options, self.problems)
        root = self.queries.query(statement.query)
        assert root is not None or self.problems.said, "a query without a plan has something wrong with it"
        sink = self._connector(statement.sink, written=True)
        name = statement.name.text if statement.name else self._next_name()
        if statement.name and name.lower() in self.catalog.queries:
            self.problems.report(
                f"there is a query named '{name}' already", statement.name.span, help="choose another name"
            )
            return
        self.catalog.queries.add(name.lower())
        if root is not None:
            self.network = self.network.with_query(estimated(plan.Query(name, root, options, sink)))

    def _next_name(self) -> str:
        self.bare += 1
        taken = f"query{self.bare}" in self.catalog.queries
        return self._next_name() if taken else f"query{self.bare}"


def _span(statement: Statement | Unread) -> Span:
    """What stands for the whole statement where no part of it is to blame."""
    if isinstance(statement, Unread):
        return statement.diagnostic.span or Span(0, 0)
    if isinstance(statement, CreateQuery) and statement.name is None:
        return statement.query.span
    assert statement.name is not None
    return statement.name.span
