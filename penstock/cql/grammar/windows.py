"""Windows in brackets (Babu 2.1.2, Tatbul 2.1.3): `[Now]`, `[Range 10 Minutes Slide 1 Minute]`, `[Partition By a Rows
10,000]`."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.cql.grammar.expressions import ExpressionParser
from penstock.cql.grammar.syntax import CastTo, Duration, Name, Quantity, WindowClause
from penstock.errors import Diagnostic, PenstockError, suggestion
from penstock.plan.durations import LONGEST_US, UNITS, in_microseconds, parse_duration
from penstock.plan.types import TIMESTAMP, to_internal

_WORDS = ("Range", "Rows", "Now", "Partition By")
_PARTS = ("Slide", "Origin", "On")


class WindowParser(ExpressionParser):
    """Reads what stands in brackets after an entry of FROM."""

    def window(self) -> WindowClause | None:
        """Takes a window where one stands."""
        start = self.here().start
        if not self.take("["):
            return None
        by = self._partition()
        word = self._window_word()
        size = None if word == "now" or self.take("UNBOUNDED") else self._size(word)
        parts = self._parts(word)
        self._close()
        return WindowClause(word, size, by, *parts, self.since(start))

    def _partition(self) -> tuple[Name, ...]:
        if not self.take("PARTITION"):
            return ()
        self.expect("BY")
        return self.listed(lambda: self.name("a column"))

    def _window_word(self) -> str:
        for word in ("RANGE", "ROWS", "NOW"):
            if self.take(word):
                return word.lower()
        token = self.ahead()
        near = suggestion(token.text, _WORDS) if token is not None else None
        self.fail(
            f"expected a window, found {self.found()}",
            self.here(),
            ("known: [Range ...], [Rows ...], [Now], [Partition By ... Rows ...]",),
            near,
        )

    def _parts(self, word: str) -> tuple[Name | None, Quantity | None, Quantity | None]:
        on: Name | None = None
        slide: Quantity | None = None
        origin: Quantity | None = None
        while True:
            if on is None and self.take("ON"):
                on = self.name("a column")
            elif slide is None and self.take("SLIDE"):
                slide = self._size(word)
            elif origin is None and self.take("ORIGIN"):
                origin = self._origin(word)
            else:
                return on, slide, origin

    def _twice(self) -> str | None:
        """The part of a window that stands here, a second time."""
        return next((p for p in _PARTS if self.at(p.upper())), None)

    def _close(self) -> None:
        token = self.ahead()
        if not self.take("]"):
            if (part := self._twice()) is not None:
                self.fail(f"a window has one {part}", self.here())
            near = suggestion(token.text, _PARTS) if token is not None else None
            self.fail(f"expected ] at the end of the window, found {self.found()}", self.here(), help=near)

    def _size(self, word: str) -> Quantity:
        return self._count() if word == "rows" else self._extent()

    def _count(self) -> Quantity:
        """A number of rows; commas may stand between groups of three digits."""
        span, text = self.here(), self._number()
        while (
            self.at(",")
            and (group := self.ahead(1)) is not None
            and group.token_type is TokenType.NUMBER
            and len(group.text) == 3
        ):
            self._advance()
            text += self._number()
        place = self.since(span.start)
        if not text.isdigit():
            self.note(Diagnostic(f"'{text}' is no number of rows", help="a whole number, such as [Rows 1000]"), place)
            return Quantity(1, False, place)
        if len(text) > 20 or int(text) > LONGEST_US:
            self.note(Diagnostic(f"a window of {text} rows is too large"), place)
            return Quantity(1, False, place)
        return Quantity(int(text), False, place)

    def _extent(self) -> Quantity:
        """A duration, or a number. What is no duration of ours has been read all the same, and reading goes on."""
        start = self.here().start
        sign = -1 if self.take("-") else 1
        try:
            value, duration = self._measured()
        except PenstockError as error:
            found = error.diagnostics[0]
            if found.span is not None:
                raise
            self.note(found, self.since(start))
            return Quantity(1, False, self.since(start))
        return Quantity(sign * value, duration, self.since(start))

    def _measured(self) -> tuple[int | float, bool]:
        if self.at("INTERVAL"):
            node = self._interval()
            assert isinstance(node, Duration)
            return node.this, True
        if self._match(TokenType.STRING):
            return parse_duration(self._prev.text), True
        total, units = self._unit_sum()
        return total, units

    def _unit_sum(self) -> tuple[int | float, bool]:
        """`1 hour 30 minutes`, or one number without a unit."""
        number = self._number()
        unit = self._unit_of_time()
        if unit is None:
            return self._plain(number), False
        total = in_microseconds(number, unit)
        while (token := self.ahead()) is not None and token.token_type is TokenType.NUMBER:
            self._advance()
            total += in_microseconds(token.text, self._unit_of_time() or "us")
        return total, True

    def _plain(self, number: str) -> int | float:
        value = int(number) if number.isdigit() else float(number)
        if value > LONGEST_US:
            raise PenstockError(f"{number} is too large for a window")
        return value

    def _unit_of_time(self) -> str | None:
        token = self.ahead()
        words = [w.upper() for w in (*_PARTS, "LATE")]
        if token is None or token.token_type is not TokenType.VAR or token.text.upper() in words:
            return None
        if token.text.lower() not in UNITS and suggestion(token.text, words):
            return None
        return self._unit()

    def _number(self) -> str:
        if not self._match(TokenType.NUMBER):
            self.unexpected("expected a number", ["Unbounded"])
        return self._prev.text

    def _origin(self, word: str) -> Quantity:
        if word == "rows" or not self.at("TIMESTAMP"):
            return self._size(word)
        start = self.here().start
        node = self._typed_literal()
        assert isinstance(node, CastTo) and isinstance(node.this, exp.Literal)
        try:
            return Quantity(to_internal(node.this.this, TIMESTAMP), True, self.since(start))
        except PenstockError as error:
            self.fail(error.diagnostics[0].message, self.since(start))
