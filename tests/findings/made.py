"""Sessions written as text: turns with their facts, and what a rule is to find in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.findings import About, Finding, Notice, Seen
from webapp.parsing import parse
from webapp.store.noticing import readers

_fact = re.compile(r"(\w+)=(\S+)")
_NUMBERS = ("sounding", "round", "answers", "entry", "most_rounds")
_MODEL = ("response", "tool_call")


@dataclass(frozen=True)
class Case:
    """`rule` finds `turns` (None: nothing) with the reason `says`, where the case names it."""

    rule: str
    title: str
    home: str
    turns: tuple[int, ...] | None
    says: str | None
    seen: tuple[Seen, ...]


def cases(path: Path) -> list[Case]:
    """The cases of `<rule>.md`."""
    return [_case(path.stem, part) for part in re.split(r"^## ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]]


def notice(seen: tuple[Seen, ...], home: str) -> list[Finding]:
    """What all rules find."""
    watching = Notice(About(home, readers))
    for turn in seen:
        watching.see(turn)
    return watching.findings()


def _case(rule: str, text: str) -> Case:
    title, _, body = text.partition("\n")
    head, *turns = re.split(r"^--- ", body, flags=re.MULTILINE)
    facts = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    home = facts.get("home", "fencepost")
    found = facts["found"]
    positions = None if found == "nothing" else tuple(map(int, found.split()))
    seen: list[Seen] = []
    for turn in turns:
        seen.append(_turn(turn, home, seen))
    return Case(rule, title.strip(), home, positions, facts.get("says"), tuple(seen))


def _turn(text: str, home: str, before: list[Seen]) -> Seen:
    """`kind fact=value …` and the text below it; `\\u…` and `×n` (the line n times) are written out."""
    first, _, raw = text.partition("\n")
    kind = first.split()[0]
    facts: dict[str, Any] = {
        name: int(value) if name in _NUMBERS else value.replace("_", " ") if name == "failure" else value
        for name, value in _fact.findall(first)
    }
    position = sum(turn.kind != "again" for turn in before) - (kind == "again")
    raw = re.sub(r"^(.*) ×(\d+)$", lambda match: match[1] * int(match[2]), raw.rstrip("\n"), flags=re.MULTILINE)
    raw = raw.encode("latin-1", "backslashreplace").decode("unicode_escape") if "raw" in facts else raw
    facts.pop("raw", None)
    if kind in _MODEL:
        ours = parse(raw)
        facts |= {"ours": ours, "home": ours if home == "fencepost" else parse(raw, home)}
    if facts.get("tool_calls"):
        facts["tool_calls"] = [{"function": {"name": facts["tool_calls"]}}]
    return Seen(**{"position": position, "entry": len(before), "kind": kind, "raw": raw or None} | facts)
