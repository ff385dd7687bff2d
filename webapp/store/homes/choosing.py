"""Chooses the home profile of a session that comes in: told, by a rule, by its format, by the setting, or unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from webapp.dumps.reading import known_formats
from webapp.dumps.records import Problem, SessionStart
from webapp.store.homes.rules import Rules
from webapp.store.write.home import NOT_KNOWN, UNKNOWN, Home
from webapp.store.write.parser import is_known


@dataclass(frozen=True, slots=True)
class HomeChooser:
    """`told` is what was said with the dump; `setting` is FENCEPOST_HOME."""

    rules: Rules
    setting: str
    told: str | None = None

    def choose(self, start: SessionStart, on_problem: Callable[[Problem], None]) -> Home:
        """The first that is a profile's name: what was told with the dump, what the dump itself says, a remembered
        rule (for the service before the format), what the format says, the setting. Another name is a problem."""
        for home in self._named(start):
            if is_known(home.profile):
                return home
            reason = f"no profile is called {home.profile[:200]!r}, which is set as its parser ({home.source})"
            on_problem(Problem(f"session {start.external_id[:200]}", reason))
        return NOT_KNOWN

    def _named(self, start: SessionStart) -> Iterator[Home]:
        format_ = known_formats().get(start.source_format)
        by_format = format_.home if format_ is not None else None
        session_home = start.home if start.home != by_format else None
        candidates = (
            (self.told, "told"),
            (session_home, "told"),
            (self.rules.get(("service", start.service or "")), "rule"),
            (self.rules.get(("format", start.source_format)), "rule"),
            (start.home, "format"),
            (self.setting, "setting"),
        )
        seen: set[str] = set()
        for name, source in candidates:
            if name is not None and name != UNKNOWN and name not in seen:
                seen.add(name)
                yield Home(name, source)
