"""`weight()`: how many tuples the one at hand stands for."""

from __future__ import annotations

from typing import Final

from penstock.plan.functions.function import define

FUNCTIONS: Final = (
    define(
        "weight() -> double",
        "how many tuples this one stands for: 1, and more behind sampling drops (1 / the share that they keep)",
        lambda: 1.0,
    ),
)
