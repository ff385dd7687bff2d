"""Decodes msgpack as LangGraph writes it; of a Python object what it was made of, importing nothing."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

_DEEPEST = 60
_SIZED = {0xC4: "B", 0xC5: ">H", 0xC6: ">I", 0xD9: "B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I"}
_SIZED |= {0xDE: ">H", 0xDF: ">I", 0xC7: "B", 0xC8: ">H", 0xC9: ">I"}
_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h"}
_NUMBERS |= {0xD2: ">i", 0xD3: ">q"}
_WORDS = {0xC0: None, 0xC2: False, 0xC3: True}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_BY_FIELDS = (2, 4, 5)
"""the extensions of LangGraph that hold a class and its fields by name"""


class BadMsgpack(ValueError):
    """The bytes are no msgpack, or nested too deeply."""


def decoded(data: bytes, level: int = 0) -> Any:
    """The value that the bytes hold. An object is `{"type": "constructor", "id": [module …, class], "kwargs"}`.

    Raises `BadMsgpack`.
    """
    try:
        return _Reader(data).value(level)
    except (struct.error, IndexError, UnicodeDecodeError, TypeError) as error:
        raise BadMsgpack(str(error)) from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self, level: int) -> Any:
        if level > _DEEPEST:
            raise BadMsgpack("nested too deeply")
        head = self._take(1)[0]
        if head < 0x80 or head >= 0xE0:
            return head if head < 0x80 else head - 0x100
        if head in _WORDS:
            return _WORDS[head]
        if head in _NUMBERS:
            return self._number(_NUMBERS[head])
        if head in _FIXED_EXTENSIONS:
            return self._extension(_FIXED_EXTENSIONS[head], level)
        size = self._number(_SIZED[head]) if head in _SIZED else head & (0x1F if 0xA0 <= head < 0xC0 else 0x0F)
        return self._sized(head, size, level)

    def _sized(self, head: int, size: int, level: int) -> Any:
        if head in (0xC4, 0xC5, 0xC6):
            return self._take(size).decode("utf-8", "backslashreplace")
        if head in (0xD9, 0xDA, 0xDB) or 0xA0 <= head < 0xC0:
            return self._take(size).decode("utf-8", "surrogatepass")
        if head in (0xC7, 0xC8, 0xC9):
            return self._extension(size, level)
        if head in (0xDC, 0xDD) or 0x90 <= head < 0xA0:
            return [self.value(level + 1) for _ in range(size)]
        if head in (0xDE, 0xDF) or 0x80 <= head < 0x90:
            return {str(self.value(level + 1)): self.value(level + 1) for _ in range(size)}
        raise BadMsgpack(f"the byte {head:#x} begins nothing")

    def _extension(self, size: int, level: int) -> Any:
        code = self._take(1)[0]
        inner = decoded_or_none(self._take(size), level + 1)
        if code in _BY_FIELDS and isinstance(inner, list) and len(inner) > 2 and isinstance(inner[2], dict):
            return {"type": "constructor", "id": [*str(inner[0]).split("."), inner[1]], "kwargs": inner[2]}
        return inner[2] if isinstance(inner, list) and len(inner) > 2 else inner

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size:
            raise BadMsgpack("the bytes end early")
        self._at += size
        return piece


def decoded_or_none(data: bytes, level: int = 0) -> Any:
    """The value that the bytes hold; None where they hold none."""
    with suppress(BadMsgpack):
        return decoded(data, level)
    return None
