"""Names and types of the columns that flow between operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.errors import Diagnostic, PenstockError, unknown
from penstock.plan.types import Type, parse_type


@dataclass(frozen=True, slots=True)
class Field:
    """One column."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a node, in order, each name once.

    >>> Schema.parse("ts timestamp, src string, price decimal(10, 2)").names
    ('ts', 'src', 'price')
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [f.name for f in self.fields]
        doubled = sorted({n for n in names if names.count(n) > 1})
        if doubled:
            raise PenstockError(Diagnostic(f"column name '{doubled[0]}' occurs twice", help="rename one with AS"))

    @classmethod
    def of(cls, fields: Iterable[tuple[str, Type]]) -> Schema:
        """A schema from (name, type) pairs."""
        return cls(tuple(Field(n, t) for n, t in fields))

    @classmethod
    def parse(cls, text: str) -> Schema:
        """A schema from "name type, name type"; commas inside parentheses and angle brackets belong to the type."""
        return cls.of((name, parse_type(rest)) for name, _, rest in (p.strip().partition(" ") for p in _split(text)))

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(f.name for f in self.fields)

    @property
    def types(self) -> tuple[Type, ...]:
        """The column types in order."""
        return tuple(f.type for f in self.fields)

    def index(self, name: str) -> int:
        """The position of column `name`."""
        for i, f in enumerate(self.fields):
            if f.name == name:
                return i
        raise PenstockError(unknown("column", name, self.names))

    def type_of(self, name: str) -> Type:
        """The type of column `name`."""
        return self.fields[self.index(name)].type

    def __contains__(self, name: object) -> bool:
        return any(f.name == name for f in self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "(<") - (c in ")>")
        if c == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += c
    return [p for p in [*parts, current] if p.strip()]
