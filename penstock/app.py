"""Boxes and arrows (Aurora's SQuAl, Tatbul 2.1.3) in Python; the nodes are the same as CQL's.

>>> app = App()
>>> packets = app.stream("packets", "ts timestamp, src string, bytes int", timestamp="ts")
>>> big = packets.filter("bytes > 100")
>>> sums = big.aggregate("src", total="sum(bytes)", size="10 minutes", slide="1 minute")
>>> sums.output("heavy", delay="2 seconds")
>>> app.network.query("heavy").root.schema.names
('src', 'total', 'window_start', 'window_end')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.boxes import Box, as_duration
from penstock.cql import checked_connector, compile_script
from penstock.cql.binder.statements import STAMPS
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.estimates import estimated
from penstock.plan.network import Connector, Network, Query, RelationDefinition, StreamDefinition
from penstock.plan.nodes import Source, Table
from penstock.plan.schema import Schema
from penstock.settings import Settings

Value = str | int | float | bool


class App:
    """Streams, relations and queries under registration; `network` is what they come to."""

    def __init__(self) -> None:
        self.network = Network()

    def stream(
        self,
        name: str,
        columns: str,
        *,
        timestamp: str | None = None,
        within: str | int | None = None,
        late: str = "keep",
        source: str | None = None,
        options: Mapping[str, Value] | None = None,
    ) -> Box:
        """Registers a stream; `columns` are written as in CREATE STREAM, `within` is the skew bound."""
        schema = self._new(name, columns)
        if timestamp is not None and schema.type_of(timestamp).name not in STAMPS:
            message = f"'{timestamp}', a {schema.type_of(timestamp)}, stamps nothing"
            raise PenstockError(Diagnostic(message, help="a stream is stamped by a TIMESTAMP, or by microseconds"))
        if late not in ("keep", "drop"):
            raise PenstockError(f"late = {late!r}: what comes too late is kept or dropped ('keep', 'drop')")
        skew_us = None if within is None else as_duration(within)
        made = StreamDefinition(name, schema, timestamp, skew_us, late, _connector(source, options))
        self.network = replace(self.network, streams=(*self.network.streams, made))
        return Box(self, Source(name, schema))

    def relation(
        self, name: str, columns: str, *, source: str | None = None, options: Mapping[str, Value] | None = None
    ) -> Box:
        """Registers a loaded relation. One that a stream keeps current is `Box.update` of that stream."""
        schema = self._new(name, columns)
        made = RelationDefinition(name, schema, _connector(source, options))
        self.network = replace(self.network, relations=(*self.network.relations, made))
        return Box(self, Table(name, schema))

    def sql(self, script: str) -> None:
        """Registers what a CQL script creates; it may read the streams and relations that are there already."""
        self.network = compile_script(script, onto=self.network)

    def register(self, query: Query) -> None:
        """Adds a query."""
        self.network = self.network.with_query(estimated(query))

    def run(
        self,
        master: str | None = None,
        checkpoint: str = "checkpoint",
        until_idle: bool = False,
        close: bool = False,
        *,
        dead_letters: str | None = None,
        shedding: str = "on",
        policy: str = "auto",
        controller: str | None = None,
        settings: Mapping[str, Value] | None = None,
    ) -> None:
        """Runs the network on Spark, as `penstock run` does with the options of these names."""
        from penstock.spark.run import Run, RunOptions

        options = RunOptions(
            master=master, checkpoint=checkpoint, until_idle=until_idle, close=close, dead_letters=dead_letters,
            mode=shedding, shed={"policy": policy}, controller=controller, settings=Settings().changed(settings or {}),
        )  # fmt: skip
        Run(self.network, options, lambda report: None).go()

    def _new(self, name: str, columns: str) -> Schema:
        taken = [s.name for s in self.network.streams] + [r.name for r in self.network.relations]
        if name.lower() in (t.lower() for t in taken):
            raise PenstockError(f"a stream or relation named '{name}' is already registered")
        schema = Schema.parse(columns)
        if len({f.name.lower() for f in schema}) < max(1, len(schema)):
            raise PenstockError(f"'{columns}': a stream or relation has columns, each with a name of its own")
        return schema


def _connector(format: str | None, options: Mapping[str, Value] | None) -> Connector | None:
    return None if format is None else checked_connector(format, options or {}, written=False)
