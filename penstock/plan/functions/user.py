"""Functions and aggregates that a user writes in Python.

A function gets NumPy arrays, one an argument, and gives an array or a list as long as they are. Numbers and timestamps
(microseconds) come as numeric arrays, everything else as arrays of objects: str, Decimal, `datetime.date`, lists. It
never sees a NULL: a row with a NULL argument gives NULL without a call. It must give the same answer for the same
arguments. Where it raises, or gives what is no value of its type, the row is **set aside**: counted, and left out of
the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, overload

import numpy as np
import numpy.typing as npt

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.functions.registry import find
from penstock.plan.types import DOUBLE, Type, parse_type, to_internal, to_python

Array = npt.NDArray[Any]
_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
NUMERIC_ARRAYS: Final = {
    "int": np.int64,
    "bigint": np.int64,
    "timestamp": np.int64,
    "interval": np.int64,
    "double": np.float64,
    "boolean": np.bool_,
}
"""The array type of an argument; object for the types that are not named."""


class SetAside(Exception):
    """A user's function failed: the row has no result. Over a train, `rows` are the positions of those that failed."""

    def __init__(self, function: str, rows: Array | None = None) -> None:
        super().__init__(f"function '{function}' failed")
        self.function = function
        self.rows = rows


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A registered function; `takes` are the types that arguments are cast to, None for anything."""

    name: str
    callable: Callable[..., Any]
    returns: Type
    takes: tuple[Type, ...] | None = None

    def accepts(self, count: int) -> bool:
        """True where the function may be called with so many arguments."""
        if self.takes is not None:
            return count == len(self.takes)
        try:
            inspect.signature(self.callable).bind(*range(count))
        except TypeError:
            return False
        except ValueError:
            return True
        return True

    @property
    def spelled(self) -> str:
        """Name, parameters and result, as a person reads them."""
        try:
            parameters = ", ".join(inspect.signature(self.callable).parameters)
        except (TypeError, ValueError):
            parameters = "..."
        return f"{self.name}({parameters}) -> {self.returns}"


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A registered aggregate: a class with `init`, `incr`, `final` and perhaps `decr`. State lives on `self`, or is
    passed from call to call.
    """

    name: str
    factory: type
    returns: Type

    @property
    def keeps_state(self) -> bool:
        """True where the state lives on `self`: `init(self)`, `incr(self, value)`, `final(self)`."""
        return len(inspect.signature(self.factory.final).parameters) == 1  # type: ignore[attr-defined]

    @property
    def invertible(self) -> bool:
        """True where values can be taken out again."""
        return hasattr(self.factory, "decr")


@dataclass(slots=True)
class UserFunctions:
    """What users have registered in this process. `install` makes the entries of another process known here, on a Spark
    worker for example.
    """

    functions: dict[str, UserFunction] = field(default_factory=dict)
    aggregates: dict[str, UserAggregate] = field(default_factory=dict)

    def add(self, entry: UserFunction | UserAggregate) -> None:
        """Registers `entry`, in place of one of that name."""
        if find(entry.name) is not None:
            raise PenstockError(
                Diagnostic(f"'{entry.name}' is a built-in function", help="give yours another name: name='...'")
            )
        if isinstance(entry, UserFunction):
            self.functions[entry.name] = entry
        else:
            self.aggregates[entry.name] = entry

    def entries(self) -> tuple[UserFunction | UserAggregate, ...]:
        """Everything registered, to be sent elsewhere."""
        return (*self.functions.values(), *self.aggregates.values())

    def install(self, entries: Iterable[UserFunction | UserAggregate]) -> None:
        """Registers all `entries`."""
        for entry in entries:
            self.add(entry)


user_functions: Final = UserFunctions()
"""The registry of this process."""


def function(
    *, returns: str | Type, takes: Sequence[str | Type] | None = None, name: str | None = None
) -> Callable[[_F], _F]:
    """Registers a function for use in queries; `takes`, where given, are the types that its arguments are cast to.

    >>> @function(returns="double")
    ... def halved(x):
    ...     return x / 2
    >>> user_functions.functions["halved"].spelled
    'halved(x) -> double'
    """

    def register(callable: _F) -> _F:
        types = None if takes is None else tuple(map(_type, takes))
        user_functions.add(UserFunction((name or callable.__name__).lower(), callable, _type(returns), types))
        return callable

    return register


@overload
def aggregate(cls: _C, /) -> _C: ...
@overload
def aggregate(*, returns: str | Type | None = None, name: str | None = None) -> Callable[[_C], _C]: ...
def aggregate(cls: Any = None, /, *, returns: str | Type | None = None, name: str | None = None) -> Any:
    """Registers an aggregate: a class with `init`, `incr` and `final`, and `decr` where values can be taken out again.

    `returns` may also be an attribute of the class; double where nothing is said.

    >>> @aggregate(returns="bigint")
    ... class longest:
    ...     def init(self): self.best = 0
    ...     def incr(self, value): self.best = max(self.best, len(value))
    ...     def final(self): return self.best
    >>> user_functions.aggregates["longest"].keeps_state
    True
    """

    def register(factory: type) -> type:
        missing = [m for m in ("init", "incr", "final") if not hasattr(factory, m)]
        if missing:
            raise PenstockError(
                Diagnostic(f"aggregate '{factory.__name__}' has no {missing[0]}", help="it needs init, incr and final")
            )
        given: Any = returns or getattr(factory, "returns", DOUBLE)
        user_functions.add(UserAggregate((name or factory.__name__).lower(), factory, _type(given)))
        return factory

    return register if cls is None else register(cls)


def _type(t: str | Type) -> Type:
    return t if isinstance(t, Type) else parse_type(t)


def as_array(values: Sequence[Any], t: Type) -> Array:
    """Internal values, none of them NULL, as the array that a user's function gets."""
    if t.name in NUMERIC_ARRAYS:
        return np.array(values, NUMERIC_ARRAYS[t.name])
    array = np.empty(len(values), np.object_)
    array[:] = [to_python(v, t) for v in values]
    return array


def results(function: UserFunction, arrays: Sequence[Array]) -> list[Any]:
    """The function's internal results for all rows of `arrays`; raises what it raises, and ValueError for a result that
    is none.
    """
    given = function.callable(*arrays)
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise PenstockError(
            Diagnostic(
                f"function '{function.name}' returned {type(given).__name__}",
                help="return an array or a list, one value a row",
            )
        )
    if len(given) != len(arrays[0]):
        raise ValueError(f"{len(given)} results for {len(arrays[0])} rows")
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    return [_internal(v, function.returns) for v in listed]


def _internal(value: Any, t: Type) -> Any:
    try:
        return to_internal(value.item() if isinstance(value, np.generic) else value, t)
    except PenstockError as error:
        raise ValueError(str(error)) from None


def evaluate_user(function: UserFunction, values: Sequence[Any], types: Sequence[Type]) -> Any:
    """The function's result for one row; raises SetAside where it has none."""
    if any(v is None for v in values):
        return None
    try:
        return results(function, [as_array([v], t) for v, t in zip(values, types, strict=True)])[0]
    except PenstockError:
        raise
    except Exception as error:
        raise SetAside(function.name) from error
