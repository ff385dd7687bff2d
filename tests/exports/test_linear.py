"""Every export, whatever is redacted, takes time that grows with the text: four times the text is not sixteen times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.exports import made
from tests.pace import ends_within, is_linear
from webapp.exports import base, redaction
from webapp.exports.session import redacted

SHORT, LONG = 3_000, 12_000
"""characters"""
QUICK = 0.5
"""seconds in which anything may be done"""
TEXTS: dict[str, Callable[[int], str]] = {
    "a key and spaces": lambda size: "api_key" + " " * size,
    "keys and spaces": lambda size: ("api_key" + " " * 500) * (size // 507),
    "addresses": lambda size: "://a:" * (size // 5),
    "slashes": lambda size: "/" * size,
    "registry tokens": lambda size: "//:_authToken=" * (size // 14),
    "token prefixes": lambda size: "sk-" * (size // 3),
    "tokens": lambda size: ("sk-" + "a" * 20) * (size // 23),
    "web tokens": lambda size: "eyJa." * (size // 5),
    "one web token": lambda size: "eyJa." + "a" * size,
    "chat tokens": lambda size: "xoxb-" + "1-" * (size // 2),
    "words of a cloud": lambda size: "aws key '" * (size // 9),
    "a list of quotes": lambda size: "k: [" + '"' * size,
    "a list of both quotes": lambda size: "k: [" + "\"'" * (size // 2),
    "lists": lambda size: "k:[" * (size // 3),
    "nested keys": lambda size: '{"k":' * (size // 5),
    "open strings": lambda size: "k:'" * (size // 3),
    "backslashes": lambda size: 'k: "' + "\\" * size,
    "values": lambda size: '{"k": "v", }' * (size // 12),
    "x": lambda size: "x" * size,
}
REDACTORS: dict[str, dict[str, Any]] = {
    "keys": {"keys": ["k", "api_key"]},
    "many ways": {"patterns": ["(.*)*(.*)*(.*)*x$"]},
    "far ahead": {"patterns": ["(a+)+b", "([a-z]*)*!", "\\s*k\\s*:"]},
    "secrets": {"secrets": True},
}
SESSION_FORMATS, LABEL_FORMATS = sorted(base.formats("sessions")), sorted(base.formats("labels"))


def size_of(name: str, text: str, hide: redaction.Redactor | None) -> int:
    if name in SESSION_FORMATS:
        view = made.session(made.turn(text))
        pieces = base.find(name, "sessions").pieces(redacted(view, hide) if hide else view, made.ABOUT)  # type: ignore[attr-defined]
    else:
        row = made.labelled(text, made.said([text[:50]], note=text))
        pieces = base.find(name, "labels").pieces(iter([hide.response(row) if hide else row]), made.ABOUT)  # type: ignore[attr-defined]
    return sum(map(len, pieces))


@pytest.mark.parametrize("how", REDACTORS)
@pytest.mark.parametrize("text", TEXTS)
def test_redaction_is_linear(text: str, how: str) -> None:
    hide = made.redactor(**REDACTORS[how])
    short, long = TEXTS[text](SHORT), TEXTS[text](LONG)
    assert is_linear(lambda: hide.spans(short), lambda: hide.spans(long), LONG // SHORT, quick=QUICK)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", SESSION_FORMATS + LABEL_FORMATS)
def test_every_export_is_linear(name: str, text: str) -> None:
    hide = redaction.redactor(["k"], ["(.*)*(.*)*(.*)*x$"])
    short, long = TEXTS[text](SHORT), TEXTS[text](LONG)
    assert is_linear(lambda: size_of(name, short, hide), lambda: size_of(name, long, hide), LONG // SHORT, quick=QUICK)


def test_edits_over_many_hidden_strings_are_found_by_halving() -> None:
    """`k: [` and quotes: every edit looked at every redaction."""
    size = 60_000
    hide = made.redactor(["k"])
    edit = {"repair": "x", "span": [0, 0], "old": "", "new": '"'}
    edits = [{**edit, "span": [at, at]} for at in range(4, size, 2)]
    trace = {"attempts": [{"reason": None, "note": None, "error": None, "edits": edits}], "values": []}
    turn = made.turn("{}", home="fencepost")
    view = made.session(made.replace(turn, raw="k: [" + '"a' * (size // 2), home=trace, fencepost=None))
    assert ends_within(5.0, lambda: list(redacted(view, hide).turns))
