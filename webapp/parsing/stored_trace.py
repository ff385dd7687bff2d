"""Stored traces, read back beside their text: one that does not fit it is not drawn, and says so in its place.

Fencepost stores a trace with the text that it is of. Where rows were changed or copied by something else, its places
may lie outside the text, or its edits remove what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webapp.parsing.trace import Trace

UNFIT = "unfit"
"""the version of a trace that only says that the stored one does not fit its text"""


def read(raw: str, data: Mapping[str, Any]) -> Trace:
    """The stored trace of `raw`, else one without attempts that says why it does not fit."""
    return Trace.from_dict(checked(raw, data))


def checked(raw: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same as a document: `data` itself where it fits `raw`."""
    why = misfit(raw, data)
    if why is None:
        return data
    empty = Trace(str(data.get("profile") or ""), UNFIT, "failed", (), (), (), policy={UNFIT: why})
    return empty.as_dict()


def misfit(raw: str, data: Mapping[str, Any]) -> str | None:
    """Why a stored trace cannot be one of this text; None where all its places and removed texts are in it."""
    try:
        if data["version"] == UNFIT:
            return str(data["policy"][UNFIT])
        for number, attempt in enumerate(data["attempts"], 1):
            if why := _of_attempt(raw, attempt):
                return f"attempt {number}: {why}"
        if any(not 0 <= index < len(data["attempts"]) for index in data["chosen"]):
            return "it chose an attempt that it has not"
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return f"it is no trace: {type(error).__name__}"
    return None


def _of_attempt(raw: str, attempt: Mapping[str, Any]) -> str | None:
    start, end = attempt["span"]
    if not 0 <= start <= end <= len(raw):
        return f"its span {start}–{end} is outside of the text, which has {len(raw):,} characters"
    at = start
    for edit in attempt["edits"]:
        first, last = edit["span"]
        if not at <= first <= last <= end:
            return f"the edit at {first}–{last} is outside of its span, or before the one that precedes it"
        if raw[first:last] != edit["old"]:
            return f"the edit at {first}–{last} removes a text that is not there"
        at = last
    if attempt["error"] and not 0 <= attempt["error"]["at"] <= len(raw):
        return "its error is outside of the text"
    return None


def sentence(trace: Trace) -> str | None:
    """What is wrong with a stored trace that was not drawn and how to mend it; None for every other trace."""
    if trace.version != UNFIT:
        return None
    return (
        f"has a stored parse that does not fit this text ({trace.policy.get(UNFIT, '')}), so that it is not drawn:"
        f" `fencepost replay --profile {trace.profile} --again` parses it again"
    )
