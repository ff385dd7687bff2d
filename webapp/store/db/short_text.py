"""Texts as columns of a length keep them."""

from __future__ import annotations


def short(value: str, length: int) -> str:
    """`value` as `ShortText(length)` keeps it."""
    if len(value) > length:
        value = value[: length - 1] + "…"
    if value.isascii() and "\0" not in value:
        return value
    return "".join("\ufffd" if letter == "\0" or "\ud800" <= letter <= "\udfff" else letter for letter in value)
