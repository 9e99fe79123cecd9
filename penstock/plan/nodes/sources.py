"""Where elements enter, and how a stream becomes a relation."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.node import Kind, Node
from penstock.plan.nodes.checks import bounded, check_window
from penstock.plan.schema import Schema
from penstock.plan.windows import WindowSpec, format_window


@dataclass(frozen=True, slots=True)
class Source(Node):
    """A registered stream, in the order the input manager gives it."""

    name: str
    columns: Schema

    def _derive(self) -> Schema:
        return self.columns

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @property
    def label(self) -> str:
        return f"stream {self.name}"


@dataclass(frozen=True, slots=True)
class Table(Node):
    """A registered relation: loaded rows stand from BEGIN on; rows given later stand from their timestamp on."""

    name: str
    columns: Schema

    def _derive(self) -> Schema:
        return self.columns

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def label(self) -> str:
        return f"relation {self.name}"


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Stream to relation (seq-window). With `bounds`, a sliding window also gives each row `window_start` and
    `window_end`."""

    input: Node
    spec: WindowSpec
    bounds: bool = False

    def _derive(self) -> Schema:
        check_window(self.input, self.spec)
        return bounded(self.input.schema, self.input, self.spec) if self.bounds else self.input.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def label(self) -> str:
        return f"window {format_window(self.spec)}"
