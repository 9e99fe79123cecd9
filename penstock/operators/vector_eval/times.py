"""Parts and starts of times on arrays: the integer arithmetic of `penstock.plan.functions.times`, with a watch on 64
bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from penstock.operators.columns.vector import Vector
from penstock.operators.vector_eval.arithmetic import add, multiply, subtract, within_dates
from penstock.operators.vector_eval.scope import Kernel, KernelFactory, Scope, masked, refused
from penstock.plan.expressions import Call, Literal
from penstock.plan.functions.calendar import DAY_US, MINUTE_US, SECOND_US
from penstock.plan.functions.text import UNITS_US
from penstock.plan.functions.times import OF_DAY, OF_TIME, STARTS, unit_name
from penstock.plan.types import TIMESTAMP


def _on_values(part: Callable[[Any], Any]) -> KernelFactory:
    """A function that is defined everywhere and cannot overflow."""

    def run(a: Vector) -> Vector:
        return masked(part(a.values), a.nulls)

    return lambda call, scope: run


def _of_day(part: Callable[[Any], Any]) -> KernelFactory:
    def kernel(call: Call, scope: Scope) -> Kernel | None:
        if call.arguments[0].type == TIMESTAMP:
            return _on_values(lambda us: part(us // DAY_US))(call, scope)
        return _on_values(part)(call, scope)

    return kernel


def _date_trunc(call: Call, scope: Scope) -> Kernel | None:
    unit = call.arguments[0]
    start = STARTS.get(unit_name(unit.value)) if isinstance(unit, Literal) else None
    if start is None:
        return None

    def run(_: Vector, a: Vector) -> Vector:
        values = start(a.values)
        return refused(values, values > a.values, a.nulls)

    return run


def _dates(kernel: Kernel) -> KernelFactory:
    return lambda call, scope: within_dates(kernel)


def _units(us: int) -> KernelFactory:
    factor = Vector(np.array(us))
    return lambda call, scope: lambda a: multiply(a, factor)


def _timestamp_s(call: Call, scope: Scope) -> Kernel | None:
    return _units(SECOND_US)(call, scope) if call.arguments[0].type.name == "bigint" else None


KERNELS: Final[dict[str, KernelFactory]] = {
    **{name: _of_day(part) for name, part in OF_DAY.items()},
    **{name: _on_values(part) for name, part in OF_TIME.items()},
    **{
        f"to_{unit}s": _units(UNITS_US[unit])
        for unit in ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
    },
    "second_of_minute": _on_values(lambda us: us % MINUTE_US),
    "epoch": _on_values(lambda us: us.astype(np.float64) / SECOND_US),
    "epoch_us": _on_values(np.copy),
    "epoch_ms": _on_values(lambda us: us // 1000),
    "epoch_s": _on_values(lambda us: us // SECOND_US),
    "timestamp_us": _on_values(np.copy),
    "timestamp_ms": _units(1000),
    "timestamp_s": _timestamp_s,
    "date_trunc": _date_trunc,
    "date_add": _dates(add),
    "date_sub": _dates(subtract),
    "datediff": lambda call, scope: subtract,
}
"""The functions of times that have a form on arrays."""
