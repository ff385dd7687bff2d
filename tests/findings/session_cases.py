"""Sessions written as text: turns with their facts, and the findings that a rule is to make of them.

A case is a `## title`, a head and its turns. The head says the `home` profile, the turns that show the finding
(`found: 1 3` or `found: nothing`), the reason (`says:`) and the profiles that are asked who would have read a text
(`readers:`). A turn is `--- kind fact=value …` with its text below; a response without one is empty. With `schema={…}`
a call's request declares its tool so, or the one named by `tool=`; with `declares=` a response's declares that tool,
with `asks=` it names that model; `id=` is a call's. With `raw=escaped` the text has its `\\u…` written out;
`line ×n` is that line n times without its ends.

Above the cases stand the real sessions that have the finding, one a line: `found in corpus/<file> <session>: <turns>`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.contracts.contract import Declaration
from webapp.contracts.held import held_call
from webapp.findings.rule import RuleFinding, TurnView
from webapp.findings.rulebook import RuleRunner
from webapp.parsing import parse

_real = re.compile(r"^found in (\S+?)/(\S+) (.+): ([\d ]+)$", re.MULTILINE)
_fact = re.compile(r"(\w+)=(\S+)")
_NUMBERS = ("sounding", "round", "answers", "entry", "most_rounds", "is_error", "tokens_in", "tokens_out", "reasoning")
_MODEL = ("response", "tool_call")
_READ = ("clean", "extracted", "repaired")


@dataclass(frozen=True)
class Case:
    """`rule` finds `positions` (None: nothing) with the reason `says`, where the case names it."""

    rule: str
    title: str
    home: str
    readers: Callable[[str], list[str]]
    positions: tuple[int, ...] | None
    says: str | None
    turns: tuple[TurnView, ...]

    def findings(self) -> list[RuleFinding]:
        """What its rule finds, beside all others."""
        runner = RuleRunner(self.home, self.readers)
        for turn in self.turns:
            runner.see(turn)
        return [finding for finding in runner.findings() if finding.rule == self.rule]


def cases(path: Path) -> list[Case]:
    """The cases of `<rule>.md`."""
    return [_case(path.stem, part) for part in re.split(r"^## ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]]


def real_findings(path: Path, folder: str) -> dict[tuple[str, str, str], tuple[int, ...]]:
    """The file, session and rule of each finding that the real sessions of a folder have, with its turns."""
    head = path.read_text("utf-8").partition("\n## ")[0]
    return {
        (file, session, path.stem): tuple(map(int, turns.split()))
        for where, file, session, turns in _real.findall(head)
        if where == folder
    }


def _case(rule: str, text: str) -> Case:
    title, _, body = text.partition("\n")
    head, *parts = re.split(r"^--- ", body, flags=re.MULTILINE)
    facts = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    home, readers = facts.get("home", "fencepost"), _readers(facts.get("readers", "fencepost").split())
    positions = None if facts["found"] == "nothing" else tuple(map(int, facts["found"].split()))
    turns: list[TurnView] = []
    for part in parts:
        turns.append(_turn(part, home, turns))
    return Case(rule, title.strip(), home, readers, positions, facts.get("says"), tuple(turns))


def _readers(names: list[str]) -> Callable[[str], list[str]]:
    """Which of these profiles read a value from a text, so that a new profile changes no case."""
    return lambda raw: [name for name in names if parse(raw, name).verdict in _READ]


def _turn(part: str, home: str, before: list[TurnView]) -> TurnView:
    first, _, text = part.partition("\n")
    kind, *_ = first.split()
    facts: dict[str, Any] = {
        name: int(value) if name in _NUMBERS else value.replace("_", " ") if name == "failure" else value
        for name, value in _fact.findall(first)
    }
    text = re.sub(r"^(.*) ×(\d+)$", lambda match: match[1] * int(match[2]), text.rstrip("\n"), flags=re.MULTILINE)
    if facts.pop("raw", None):
        text = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    raw = text if text or kind == "response" else None
    if kind in _MODEL:
        ours = parse(text)
        facts |= {"ours": ours, "home": ours if home == "fencepost" else parse(text, home)}
    if schema := facts.pop("schema", None):
        tool = {"name": facts.pop("tool", facts["agent"]), "schema": json.loads(schema)}
        facts["contract"] = held_call(text, facts["agent"], Declaration.of({"tools": [tool]}))
    if declares := facts.pop("declares", None):
        facts["declared"] = {"tools": [{"name": declares}]}
    if asks := facts.pop("asks", None):
        facts["declared"] = {"model": asks}
    if ident := facts.pop("id", None):
        facts["tool_calls"] = [{"id": ident, "type": "function"}]
    elif facts.get("tool_calls"):
        facts["tool_calls"] = [{"function": {"name": facts["tool_calls"]}}]
    position = sum(turn.kind != "again" for turn in before) - (kind == "again")
    return TurnView(**{"position": position, "entry": len(before), "kind": kind, "raw": raw} | facts)
