"""LangChain's messages as `pretty_print` writes them: a name, what is said, a block of calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from webapp.dumps.python_repr import from_repr

_NAMED = re.compile(r"Name: (?P<name>[^\r\n]*)\r?\n(?:\r?\n)?")
_BLOCK = re.compile(r"^(?:Invalid )?Tool Calls:[ \t]*\r?$", re.M)
_CALL = re.compile(r"^  (?P<name>[^\r\n]*) \((?P<id>[^()\r\n]*)\)\n Call ID: [^\n]*$", re.M)
_ARGUMENTS = re.compile(r"^  Args:[ \t]*$", re.M)
_ARGUMENT = re.compile(r"^    (?P<key>[^\s:][^:\r\n]*):(?: |$)", re.M)
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|True|False|None")
_CONSTANTS = {"True": True, "False": False, "None": None}
_MOST = 1024 * 1024
_GUESSED = "LangChain prints arguments without quotes: whether those that look like numbers are texts is not known"


def pretty_printed(raw: str, role: str | None, notes: list[str]) -> dict[str, Any]:
    """The message that was printed, in LangChain's shape."""
    message: dict[str, Any] = {"role": role}
    if named := _NAMED.match(raw):
        message["name"], raw = named["name"], raw[named.end() :]
    block = _BLOCK.search(raw) if role == "assistant" else None
    said = (raw[: block.start()] if block else raw).strip("\r\n").rstrip()
    blocks = from_repr(said, _MOST) if said.startswith("[{'") else None
    message["content"] = blocks if isinstance(blocks, list) else said
    if block and (calls := list(_calls(raw[block.start() :], notes))):
        message["tool_calls"] = calls
    elif block:
        message["content"] = raw
    return message


def _calls(block: str, notes: list[str]) -> Iterator[dict[str, Any]]:
    block = block.replace("\r\n", "\n")
    marks = list(_CALL.finditer(block))
    for mark, following in zip_longest(marks, marks[1:]):
        written = block[mark.end() : following.start() if following else len(block)]
        begin = _ARGUMENTS.search(written)
        rest = _BLOCK.split(written[begin.end() :])[0].strip("\r\n").rstrip() if begin else ""
        named = None if mark["id"] == "None" else mark["id"]
        yield {"name": mark["name"], "id": named, "args": _arguments(rest, notes)}


def _arguments(written: str, notes: list[str]) -> Any:
    """The arguments by their names; of a call that LangChain could not read, the text that the model wrote."""
    marks = list(_ARGUMENT.finditer(written))
    if not marks or marks[0].start() or written.lstrip()[:1] in ("{", "["):
        return written.strip() if written.strip() else {}
    ends = [*(mark.start() for mark in marks[1:]), len(written) + 1]
    texts = {mark["key"]: written[mark.end() : end - 1] for mark, end in zip(marks, ends, strict=True)}
    values = {key: _value(said) for key, said in texts.items()}
    if values != texts and _GUESSED not in notes:
        notes.append(_GUESSED)
    return values


def _value(said: str) -> Any:
    if _LITERAL.fullmatch(said):
        return _CONSTANTS[said] if said in _CONSTANTS else float(said) if set(said) & set(".e") else int(said)
    inner = from_repr(said, _MOST) if said[:1] in ("{", "[") else None
    return said if inner is None else inner
