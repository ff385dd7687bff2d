"""Tool results that reject a call: whether a result is an error, of validation or not, and what like errors share."""

from __future__ import annotations

import re

from webapp.findings.turn_view import TurnView

_LOOKED_AT = 300
_error = re.compile(
    r"\s{0,9}(?:<tool_use_error>|\[?(?:tool |validation |execution )?errors?\b\]?\s?[:!]|\w{0,60}Error:|failed to |"
    r"invalid (?:arguments?|parameters?|input|tool)|unknown tool)",
    re.IGNORECASE,
)
_validation = re.compile(
    r"must have required propert|validation errors?\b(?! *s?: *0)|InputValidationError|Input should be|"
    r"\bunknown tool\b|no such tool|failed to parse structured output|required parameter .{0,60} is missing|"
    r"is a required property|is not of type '|Invalid arguments for tool|does not match (?:the )?(?:required )?schema",
    re.IGNORECASE,
)
_by_the_user = re.compile(r"\buser (?:doesn't want|does not want|rejected|denied|declined|interrupted|cancelled)", re.I)
_varying = re.compile(
    r"(?:[A-Za-z]:)?[\w.~-]{0,80}(?:[/\\][\w.@+~-]{1,200})+|\b[0-9a-f]{8}-[0-9a-f-]{20,36}\b|\b\w{0,40}\d[\w.,:-]{0,60}"
)


def is_rejection(turn: TurnView) -> bool:
    """Whether a tool's result is an error: its log marks it so, or it begins like one; a person's refusal is none."""
    text = (turn.raw or "")[:_LOOKED_AT]
    if not text.strip() or turn.is_error is False or _by_the_user.search(text):
        return False
    return bool(turn.is_error) or _error.match(text) is not None


def is_validation_error(turn: TurnView) -> bool:
    """Whether a result rejects the call's name or arguments."""
    return is_rejection(turn) and _validation.search((turn.raw or "")[:_LOOKED_AT]) is not None


def skeleton(text: str) -> str:
    """The beginning of an error without its paths, ids and numbers."""
    return " ".join(_varying.sub("#", text[:_LOOKED_AT]).split())
