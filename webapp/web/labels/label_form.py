"""The label form: what it holds, what is wrong with what was typed, and what it says when it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from webapp.store.labels.label_content import BadLabel, LabelContent
from webapp.store.labels.values import BadValue, read, written

EXPECTS = {"": "no expected value", "value": "value", "none": "no JSON is meant", "unknown": "cut off: unknown"}

STORED_EXPECTS = {"one": "one expected value", "several": "several expected values"}


def expects_words(expects: str | None) -> str:
    """What a stored label expects, in words; "" where it says nothing of it."""
    return STORED_EXPECTS.get(expects or "", EXPECTS.get(expects, "")) if expects else ""


@dataclass(frozen=True, slots=True)
class Fields:
    judgement: str = ""
    cause: str = ""
    note: str = ""
    expects: str = ""
    expected: str = ""
    seen: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """What the expected text is: `values` where it is JSON; else the error with the line it stands on.

    `before` is what stands on that line before the error.
    """

    values: list[Any] | None
    error: BadValue | None = None
    before: str = ""
    rest: str = ""


def of_label(label: Any, seen_stamp: str) -> Fields:
    if label is None:
        return Fields(seen=seen_stamp)
    expects = "value" if label.expects in ("one", "several") else label.expects or ""
    values: list[Any] = list(label.expected or ()) if label.expects == "several" else [label.expected]
    text = written(values) if expects == "value" else ""
    return Fields(label.judgement, label.cause or "", label.note or "", expects, text, seen_stamp, label.source or "")


def of_form(form: Mapping[str, str]) -> Fields:
    return Fields(**{name: form.get(name, "").replace("\r\n", "\n") for name in Fields.__dataclass_fields__})


def check(fields: Fields) -> Check:
    """Read the expected text; no values where nothing is said of it, an empty list where no JSON is meant."""
    if fields.expects in ("none", "unknown"):
        return Check([] if fields.expects == "none" else None)
    try:
        return Check(read(fields.expected) or None)
    except BadValue as error:
        line = fields.expected.split("\n")[error.line - 1]
        at = error.column - 1
        return Check(None, error, line[max(0, at - 60) : at], line[at : at + 20])


def said(fields: Fields, seconds: str = "") -> LabelContent:
    """What the form says; raises `BadLabel` where the expected text is not JSON."""
    checked = check(fields)
    if checked.error is not None:
        error = checked.error
        raise BadLabel(f"the expected value is not JSON: line {error.line}, column {error.column}: {error.message}")
    try:
        took: float | None = float(seconds)
    except ValueError:
        took = None
    values = checked.values if fields.expects not in ("none", "unknown") else None
    expects = fields.expects or None
    if values is not None:
        expects = "several" if len(values) > 1 else "one"
    elif expects == "value":
        expects = None
    expected = None if values is None else values if expects == "several" else values[0]
    content = LabelContent(fields.judgement, fields.cause or None, fields.note or None, expects, expected, took)
    return replace(content, source=fields.source or None)
