"""Findings of one's own, as data: a TOML file of texts and patterns over raw text, errors or values by path.

The file is named by the environment variable `FENCEPOST_FINDINGS`; docs/findings.md shows one. Regular expressions
are run by RE2, whose time grows with the text alone, since the standard `re` tries every way to match.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from webapp import plugins
from webapp.findings.rule import EVERY_KIND, Detail, Observer, Rule, RuleContext, TurnView, code, number
from webapp.refusals import WrongUse
from webapp.text_patterns import LONGEST_PATTERN, BadPattern, compiled_by_re2

if TYPE_CHECKING:
    from webapp.parsing.trace import Trace

RULES = "webapp.findings.rules"
VARIABLE = "FENCEPOST_FINDINGS"
SEVERITIES = ("high", "medium", "low")
MOST = 200
"""entries"""
LONGEST_TEXT = 2_000_000
"""code points of one text that are looked at; a match behind them is not seen, and the page of the rule says so"""
_KEYS = frozenset({"name", "in", "text", "pattern", "severity", "says", "kinds"})
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]")
_EXCERPT = 120


class BadFindings(WrongUse):
    """The file cannot be used; the message names it, the entry and what is wrong there."""


class PatternMatch(NamedTuple):
    """Where a pattern stands: what it stood in (`raw`, `error`, `value`), the place in that, and the text."""

    where: str
    at: int
    text: str


@dataclass(frozen=True, slots=True)
class OwnFinding:
    """One entry of the file. `where` is `raw`, `error`, or a path such as `$.tool` or `$.calls[*].name`."""

    name: str
    severity: str
    where: str
    wanted: str
    is_literal: bool
    says: str
    kinds: tuple[str, ...]
    compiled: Any

    def match(self, raw: str, trace: Trace | None, failure: str | None = None) -> PatternMatch | None:
        """The first place where it stands in a response, None where it does not."""
        for where, text in self._texts(raw, trace, failure):
            encodable = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")  # RE2 takes no lone surrogate
            match = self.compiled.search(encodable)
            if match is not None:
                return PatternMatch(where, match.start(), match.group()[:_EXCERPT])
        return None

    def _texts(self, raw: str, trace: Trace | None, failure: str | None) -> Iterator[tuple[str, str]]:
        if self.where == "raw":
            yield "raw", raw
        elif self.where == "error":
            yield from [("error", failure)] if failure else []
            attempts = trace.attempts if trace else ()
            yield from (("error", attempt.error.message) for attempt in attempts if attempt.error)
        else:
            values = (part for value in (trace.values if trace else ()) for part in at_path(value, self.where))
            yield from (("value", part if isinstance(part, str) else json.dumps(part)) for part in values)


class _Matches(Observer):
    def __init__(self, finding: OwnFinding, context: RuleContext) -> None:
        super().__init__(context)
        self.own = finding
        self.first: Detail = {}

    def see(self, turn: TurnView) -> None:
        match = self.own.match(turn.raw or "", turn.home or turn.ours, turn.failure)
        if match is not None:
            self.marked.add(turn.position)
            self.first = self.first or {"says": self.own.says, "where": match.where, "text": match.text}

    def detail(self) -> Detail:
        return {**self.first, "matches": self.marked.count}


def _words(detail: Detail) -> str:
    where = {"raw": "in", "error": "in the error of", "value": "in a value of"}[detail["where"]]
    turns = number(detail["matches"], "turn")
    return f"{detail['says']}: {code(detail['text'])} {where} {turns}"


def rule_of(finding: OwnFinding) -> Rule:
    """The entry as a rule; its rank is behind those of Fencepost's own."""
    rank = 1_000 + SEVERITIES.index(finding.severity)
    return Rule(finding.name, finding.severity, rank, finding.kinds, lambda context: _Matches(finding, context), _words)  # type: ignore[arg-type]


def at_path(value: Any, path: str) -> Iterator[Any]:
    """What stands at `path` in a decoded value: `$.calls[*].name`; nothing where the path leads nowhere."""
    values = [value]
    for key, index in _STEP.findall(path):
        values = [part for container in values for part in _step(container, key, index)]
    return iter(values)


def _step(value: Any, key: str, index: str) -> Sequence[Any]:
    if key:
        return [value[key]] if isinstance(value, dict) and key in value else []
    if not isinstance(value, list):
        return []
    return value if index == "*" else value[int(index) : int(index) + 1]


@cache
def configured() -> dict[str, OwnFinding]:
    """The findings of the file that the setting names, by name. Raises `BadFindings`."""
    path = os.environ.get(VARIABLE)
    try:
        return {finding.name: finding for finding in refuse_taken_names(load(Path(path).expanduser()))} if path else {}
    except BadFindings as bad:
        raise BadFindings(f"{VARIABLE}: {bad}") from None


def refuse_taken_names(entries: list[OwnFinding]) -> list[OwnFinding]:
    """The entries; raises `BadFindings` where one is called as a rule of Fencepost's own."""
    if name := next((entry.name for entry in entries if entry.name in plugins.collect(RULES)), None):
        raise BadFindings(f"{name!r} is the name of a rule of Fencepost's own")
    return entries


def load(path: Path) -> list[OwnFinding]:
    """The findings of a file. Raises `BadFindings`."""
    try:
        return parse(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise BadFindings(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BadFindings(f"{path}: not UTF-8 at byte {error.start}") from None


def parse(text: str, name: str = "findings") -> list[OwnFinding]:
    """The findings of a TOML text, in its order. Raises `BadFindings`, whose message begins with `name`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadFindings(f"{name}: {error}") from None
    entries = document.pop("finding", [])
    if document:
        raise BadFindings(f"{name}: {next(iter(document))!r} is not known; entries are [[finding]]")
    if not isinstance(entries, list) or len(entries) > MOST:
        raise BadFindings(f"{name}: [[finding]] may occur at most {MOST} times, with double brackets")
    result: dict[str, OwnFinding] = {}
    for index, entry in enumerate(entries):
        finding = _entry(entry, f"{name}: finding {index + 1}")
        if finding.name in result:
            raise BadFindings(f"{name}: finding {index + 1}: another one is called {finding.name!r}")
        result[finding.name] = finding
    return list(result.values())


def _entry(entry: Any, at: str) -> OwnFinding:
    if not isinstance(entry, dict):
        raise BadFindings(f"{at}: expected a table")
    if unknown := entry.keys() - _KEYS:
        raise BadFindings(f"{at}: {min(unknown)!r} is not known; there are {', '.join(sorted(_KEYS))}")
    if ("text" in entry) == ("pattern" in entry):
        raise BadFindings(f"{at}: takes either text, which is literal, or pattern, a regular expression")
    is_literal = "text" in entry
    pattern_text = _text(entry, "text" if is_literal else "pattern", at)
    name = _text(entry, "name", at)
    if not _NAME.fullmatch(name):
        raise BadFindings(f"{at}: a name is small letters, digits and _, not {name[:80]!r}")
    return OwnFinding(
        name=name,
        severity=_severity(entry, at),
        where=_where(entry, at),
        wanted=pattern_text,
        is_literal=is_literal,
        says=_text(entry, "says", at, name.replace("_", " ")),
        kinds=_kinds(entry, at),
        compiled=re.compile(re.escape(pattern_text)) if is_literal else _regular(pattern_text, at),
    )


def _text(entry: Mapping[str, Any], key: str, at: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if not isinstance(value, str) or not value or len(value) > LONGEST_PATTERN:
        raise BadFindings(f"{at}: {key} must be a text of 1 to {LONGEST_PATTERN:,} characters")
    return value


def _severity(entry: Mapping[str, Any], at: str) -> str:
    value = entry.get("severity", "medium")
    if value not in SEVERITIES:
        raise BadFindings(f"{at}: severity takes {', '.join(SEVERITIES)}, not {str(value)[:80]!r}")
    return str(value)


def _where(entry: Mapping[str, Any], at: str) -> str:
    where = str(entry.get("in", "raw"))
    if where in ("raw", "error"):
        return where
    if where.startswith("$") and "".join(step.group() for step in _STEP.finditer(where)) == where[1:]:
        return where
    raise BadFindings(f"{at}: in must be raw, error or a path such as $.tool or $.calls[*].name, not {where[:80]!r}")


def _kinds(entry: Mapping[str, Any], at: str) -> tuple[str, ...]:
    kinds = entry.get("kinds", ["response", "tool_call"])
    if not isinstance(kinds, list) or not kinds or not set(map(str, kinds)) <= set(EVERY_KIND):
        raise BadFindings(f"{at}: kinds must be a list of {', '.join(EVERY_KIND)}")
    return tuple(kinds)


def _regular(pattern: str, at: str) -> Any:
    try:
        return compiled_by_re2(pattern)
    except ImportError:
        raise BadFindings(
            f"{at}: pattern needs the library google-re2, which is not installed; text does not"
        ) from None
    except BadPattern as bad:
        raise BadFindings(f"{at}: {bad}") from None
