"""Strings: sequences of code points, counted from 1, as Spark counts them."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any, Final

from penstock.plan.functions.function import define

LONGEST: Final = 1 << 24
"""Code points that a result may have: a longer one is NULL, so that one row cannot fill the memory."""
_SHA2: Final = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def substring(text: str, start: int, length: int | None = None) -> str:
    """From position `start`, counted from 1, or from the end where it is negative; 0 is as 1.

    >>> substring("Spark SQL", 5, 1), substring("Spark SQL", -3), substring("abc", -5, 3)
    ('k', 'SQL', 'a')
    """
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else first + length
    return text[max(first, 0) : max(end, 0)]


def _trimmer(left: bool, right: bool) -> Any:
    def trim(text: str, characters: str = " ") -> str:
        text = text.lstrip(characters) if left else text
        return text.rstrip(characters) if right else text

    return trim


def _replaced(text: str, search: str, replacement: str = "") -> str | None:
    if not search:
        return text
    longer = text.count(search) * (len(replacement) - len(search))
    return text.replace(search, replacement) if len(text) + longer <= LONGEST else None


def _joined(separator: str | None, *parts: str | None) -> str | None:
    if separator is None:
        return None
    present = [p for p in parts if p is not None]
    length = sum(map(len, present)) + len(separator) * len(present)
    return separator.join(present) if length <= LONGEST else None


def _found(text: str, part: str, start: int = 1) -> int:
    return text.find(part, start - 1) + 1 if start > 0 else 0


def _padder(before: bool) -> Any:
    def pad(text: str, length: int, filler: str = " ") -> str | None:
        if length > LONGEST:
            return None
        missing = max(length, 0) - len(text)
        if missing <= 0 or not filler:
            return text[: max(length, 0)]
        padding = (filler * (missing // len(filler) + 1))[:missing]
        return padding + text if before else text + padding

    return pad


def _repeated(text: str, times: int) -> str | None:
    return text * times if times <= 0 or len(text) * times <= LONGEST else None


def split_part(text: str, separator: str, number: int) -> str | None:
    """Piece `number` of `text`, from the end where it is negative; empty where there is none, NULL for 0."""
    if number == 0:
        return None
    pieces = text.split(separator) if separator else [text]
    index = number - 1 if number > 0 else len(pieces) + number
    return pieces[index] if 0 <= index < len(pieces) else ""


def _initials(text: str) -> str:
    return " ".join(word[:1].title() + word[1:] for word in text.lower().split(" "))


def _character(code: int) -> str:
    return "" if code < 0 else chr(code & 0xFF)


def _translated(text: str, characters: str, others: str) -> str:
    table: dict[int, str | None] = {}
    for i, c in enumerate(characters):
        table.setdefault(ord(c), others[i] if i < len(others) else None)
    return text.translate(table)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(text: str, bits: int) -> str | None:
    return hashlib.new(_SHA2[bits], _bytes(text)).hexdigest() if bits in _SHA2 else None


FUNCTIONS: Final = (
    define("lower(string) -> string", "in lower case", str.lower, aliases=("lcase",)),
    define("upper(string) -> string", "in upper case", str.upper, aliases=("ucase",)),
    define(
        "initcap(string) -> string", "the first letter of each word in upper case, the others in lower case", _initials
    ),
    define(
        "length(string) -> int", "the number of characters", len, aliases=("char_length", "character_length", "len")
    ),
    define("octet_length(string) -> int", "the number of bytes in UTF-8", lambda text: len(_bytes(text))),
    define(
        "substr(string, bigint [, bigint]) -> string",
        "the part from a position on, at most so many characters; positions count from 1, negative ones from the end",
        substring,
        aliases=("substring",),
    ),
    define("left(string, bigint) -> string", "the first characters", lambda text, n: text[: max(n, 0)]),
    define(
        "right(string, bigint) -> string",
        "the last characters",
        lambda text, n: text[max(len(text) - n, 0) :] if n > 0 else "",
    ),
    define(
        "trim(string [, string]) -> string",
        "without the given characters (spaces) at both ends",
        _trimmer(True, True),
        aliases=("btrim",),
    ),
    define(
        "ltrim(string [, string]) -> string",
        "without the given characters (spaces) at the start",
        _trimmer(True, False),
    ),
    define(
        "rtrim(string [, string]) -> string", "without the given characters (spaces) at the end", _trimmer(False, True)
    ),
    define(
        "replace(string, string [, string]) -> string",
        "every occurrence of the second replaced by the third (nothing)",
        _replaced,
    ),
    define(
        "translate(string, string, string) -> string",
        "each character of the second replaced by the one at its place in the third, or left out",
        _translated,
    ),
    define(
        "concat(text...) -> string",
        "one after another, also `a || b`; NULL where one is NULL",
        lambda *parts: _joined("", *parts),
        aliases=("||",),
    ),
    define(
        "concat_ws(string, text...) -> string",
        "one after another, the first between them; NULLs are left out",
        _joined,
        strict=False,
    ),
    define(
        "instr(string, string) -> int",
        "where the second first occurs in the first, counted from 1; 0 where it does not",
        _found,
        aliases=("strpos",),
    ),
    define(
        "position(string, string [, bigint]) -> int",
        "where the first occurs in the second, at the given position or after; 0 where it does not",
        lambda part, text, start=1: _found(text, part, start),
        aliases=("locate",),
    ),
    define(
        "lpad(string, bigint [, string]) -> string",
        "cut or filled up on the left (with spaces) to a length",
        _padder(True),
    ),
    define(
        "rpad(string, bigint [, string]) -> string",
        "cut or filled up on the right (with spaces) to a length",
        _padder(False),
    ),
    define("repeat(string, bigint) -> string", "so many times", _repeated),
    define("reverse(string) -> string", "from the end to the start", lambda text: text[::-1]),
    define(
        "starts_with(string, string) -> boolean",
        "true where the first starts with the second",
        str.startswith,
        aliases=("startswith",),
    ),
    define(
        "ends_with(string, string) -> boolean",
        "true where the first ends with the second",
        str.endswith,
        aliases=("endswith",),
    ),
    define(
        "contains(string, string) -> boolean",
        "true where the second occurs in the first",
        lambda text, part: part in text,
    ),
    define(
        "split_part(string, string, bigint) -> string",
        "one of the pieces between separators, counted from 1, or from the end if negative",
        split_part,
    ),
    define(
        "ascii(string) -> int",
        "the code point of the first character, 0 for the empty string",
        lambda text: ord(text[0]) if text else 0,
    ),
    define(
        "chr(bigint) -> string",
        "the character of a code below 256; higher codes start again from 0, negative ones give nothing",
        _character,
        aliases=("char",),
    ),
    define(
        "md5(string) -> string",
        "128-bit digest, in hexadecimal",
        expensive=True,
        meaning=lambda text: hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest(),
    ),
    define(
        "sha1(string) -> string",
        "160-bit digest, in hexadecimal",
        expensive=True,
        aliases=("sha",),
        meaning=lambda text: hashlib.sha1(_bytes(text), usedforsecurity=False).hexdigest(),
    ),
    define(
        "sha2(string, int) -> string",
        "digest of 224, 256, 384 or 512 bits (0: 256), in hexadecimal",
        _digest,
        expensive=True,
    ),
    define("crc32(string) -> bigint", "checksum of the bytes in UTF-8", lambda text: zlib.crc32(_bytes(text))),
)
