"""The home profile of sessions that come in: told, by a rule, the format, the program or the setting, or unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from webapp.dumps.programs import KEY
from webapp.dumps.records import Problem, SessionStart
from webapp.parsing import engine
from webapp.refusals import NotThere, WrongUse
from webapp.store import saved
from webapp.store.db import database
from webapp.store.db.ids import short
from webapp.store.models import SavedItem
from webapp.store.write.parser import NOT_KNOWN, UNKNOWN, Home
from webapp.store.write.session_state import is_known

SOURCE = "program"
NATIVE = "native"
_NATIVE = ("claude-code", "codex", "gemini-cli", "google-adk", "kimi-cli", "openai-agents", "opencode")
"""programs that take calls from their model's API alone: a text is shown to people"""
_RELEASE = re.compile(r"restated-([\w.]+)")


def profile_of(extra: dict[str, Any]) -> str | None:
    """The profile that reads as the session's program; None where the log names none."""
    program = _program(extra)
    if program is None:
        return None
    return NATIVE if program["name"] in _NATIVE else str(program["name"])


def evidence(home: str, source: str, extra: dict[str, Any] | None) -> str | None:
    """From what a home was inferred, with the version that the log names and the release that the profile restates."""
    program = _program(extra or {})
    if source != SOURCE or program is None:
        return None
    version, restated = program.get("version"), _RELEASE.match(engine.profile(home).version)
    words = f"Its parser is inferred from {program.get('seen')}"
    words += f", version {version}" if version else ", which does not say its version" if restated else ""
    if restated and version != restated[1]:
        words += f"; the profile is that of release {restated[1]}, and another one may read otherwise"
    return f"{words}."


def _program(extra: dict[str, Any]) -> dict[str, Any] | None:
    program = extra.get(KEY)
    return program if isinstance(program, dict) and isinstance(program.get("name"), str) else None


KINDS = ("service", "format")
LONGEST = 255

Rules = Mapping[tuple[str, str], str]
"""profiles by kind and value"""


class BadRule(WrongUse):
    """A rule that cannot be meant; the message says why."""


class NoSuchRule(NotThere):
    """No rule has that number."""


def read(connection: sa.Connection) -> Rules:
    """All rules, for those who choose the home of what comes in."""
    return {(rule.kind, rule.name): rule.content["profile"] for rule in lines(connection)}


def lines(connection: sa.Connection) -> list[SavedItem]:
    """All rules, by kind and value: sessions whose service or format (`kind`) is `name` are read under the `content`'s
    `profile` when they come in."""
    return saved.every(connection, *KINDS)


def as_dict(rule: SavedItem) -> dict[str, Any]:
    """A rule as commands print it."""
    about = {"id": rule.id, "kind": rule.kind, "value": rule.name, **rule.content}
    return about | {"author": rule.author, "made_at": rule.made_at}


def remember(connection: sa.Connection, kind: str, value: str, profile: str, author: str) -> None:
    """Keep a rule, in place of the one for the same kind and value; the caller commits. Raises `BadRule`."""
    value = short(value.strip(), LONGEST)
    if kind not in KINDS or not value:
        raise BadRule(f"a rule is for a {' or a '.join(KINDS)}, with a value")
    if profile == UNKNOWN or not is_known(profile):
        raise BadRule(f"no profile is called {profile[:200]!r}")
    saved.put(connection, kind, value, {"profile": profile}, author)


def forget(engine: sa.Engine, number: int) -> SavedItem:
    """Delete a rule; what came under it stays as it is. Raises `NoSuchRule`."""
    with database.writing(engine) as connection:
        rule = saved.remove(connection, number, *KINDS)
    if rule is None:
        raise NoSuchRule(f"no rule has the number {number}")
    return rule


@dataclass(frozen=True, slots=True)
class HomeChooser:
    """`told` is what was said with the dump; `setting` is FENCEPOST_HOME; `of_format` gives a format's own home."""

    rules: Rules
    setting: str
    of_format: Callable[[str], str | None]
    told: str | None = None

    def choose(self, start: SessionStart, on_problem: Callable[[Problem], None]) -> Home:
        """The first that is a profile's name: what was told with the dump, what the dump itself says, a remembered
        rule (for the service before the format), what the format says, the program that the dump names, the setting.
        Another name is a problem."""
        for home in self._named(start):
            if is_known(home.profile):
                return home
            reason = f"no profile is called {home.profile[:200]!r}, which is set as its parser ({home.source})"
            on_problem(Problem(f"session {start.external_id[:200]}", reason))
        return NOT_KNOWN

    def _named(self, start: SessionStart) -> Iterator[Home]:
        session_home = start.home if start.home != self.of_format(start.source_format) else None
        candidates = (
            (self.told, "told"),
            (session_home, "told"),
            (self.rules.get(("service", start.service or "")), "rule"),
            (self.rules.get(("format", start.source_format)), "rule"),
            (start.home, "format"),
            (profile_of(start.extra), SOURCE),
            (self.setting, "setting"),
        )
        names: set[str] = set()
        for name, source in candidates:
            if name is not None and name != UNKNOWN and name not in names:
                names.add(name)
                yield Home(name, source)
