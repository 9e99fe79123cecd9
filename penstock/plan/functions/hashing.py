"""`hash(...)`: Murmur3 of 32 bits with seed 42 over the arguments, each value seeding the next: Spark's `hash`, bit for
bit.

Whole numbers of 32 bits or less are hashed as 4 bytes, longer ones and doubles as 8, strings byte by byte past the last
whole word; a NULL leaves the hash as it is. The lines on words serve Python ints and NumPy arrays of uint64 alike.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, Final

from penstock.plan.functions.function import Meaning, define
from penstock.plan.types import Type

SEED: Final = 42
_MASK: Final = 0xFFFFFFFF
_FOUR_BYTES: Final = ("boolean", "int", "date")
_LONG_DECIMAL: Final = 18


def hash_int(word: Any, seed: Any) -> Any:
    """The hash of 32 bits."""
    return _finished(_mixed(seed, word & _MASK), 4)


def hash_long(word: Any, seed: Any) -> Any:
    """The hash of 64 bits, the low half first."""
    return _finished(_mixed(_mixed(seed, word & _MASK), (word >> 32) & _MASK), 8)


def _mixed(seed: Any, word: Any) -> Any:
    word = (word * 0xCC9E2D51) & _MASK
    word = ((word << 15) | (word >> 17)) & _MASK
    seed = seed ^ ((word * 0x1B873593) & _MASK)
    seed = ((seed << 13) | (seed >> 19)) & _MASK
    return (seed * 5 + 0xE6546B64) & _MASK


def _finished(seed: Any, length: int) -> Any:
    seed = seed ^ length
    seed = ((seed ^ (seed >> 16)) * 0x85EBCA6B) & _MASK
    seed = ((seed ^ (seed >> 13)) * 0xC2B2AE35) & _MASK
    return seed ^ (seed >> 16)


def _hash_bytes(data: bytes, seed: int) -> int:
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        seed = _mixed(seed, word)
    for byte in data[whole:]:
        seed = _mixed(seed, (byte - 256 if byte > 127 else byte) & _MASK)
    return int(_finished(seed, len(data)))


def double_word(value: float) -> int:
    """The 64 bits of a double; -0.0 is 0.0, all NaNs are one."""
    number = 0.0 if value == 0 else value if value == value else float("nan")
    return int.from_bytes(struct.pack("<d", number), "little")


def hash_value(value: Any, t: Type, seed: int) -> int:
    """`seed` with `value` mixed in."""
    if value is None:
        return seed
    if t.element is not None:
        for item in value:
            seed = hash_value(item, t.element, seed)
        return seed
    if t.name in _FOUR_BYTES:
        return int(hash_int(int(value), seed))
    if t.name == "string":
        return _hash_bytes(value.encode("utf-8", "surrogatepass"), seed)
    if t.name == "double":
        return int(hash_long(double_word(value), seed))
    return _hash_decimal(value, t, seed) if t.name == "decimal" else int(hash_long(value, seed))


def _hash_decimal(value: Decimal, t: Type, seed: int) -> int:
    unscaled = int(value.scaleb(t.scale))
    if t.precision <= _LONG_DECIMAL:
        return int(hash_long(unscaled, seed))
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return _hash_bytes(unscaled.to_bytes(length, "big", signed=True), seed)


def _hash(arguments: tuple[Type, ...], result: Type) -> Meaning:
    def hashed(*values: Any) -> int:
        seed = SEED
        for value, t in zip(values, arguments, strict=True):
            seed = hash_value(value, t, seed)
        return seed - (1 << 32) if seed >> 31 else seed

    return hashed


FUNCTIONS: Final = (
    define("hash(any...) -> int", "Spark's Murmur3 hash of 32 bits; NULLs change nothing", bind=_hash, strict=False),
)
