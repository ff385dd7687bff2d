"""A released library's parser as a profile: its own code under capture where it is installed, else our re-statement."""

from __future__ import annotations

from functools import cache, cached_property
from importlib import metadata

from webapp.capture.process import CHILD, NotStarted, ParserProcess
from webapp.parsing.engine import Tracer
from webapp.parsing.outcomes import record_outcome
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.span import Span


class LibraryParser:
    """Base of the profiles of other people's parsers.

    `distribution` is what one installs, `target` the callable as `module:function`, `restates` the release that
    `restate` was written after and is tested against. `version` says which of the two ran.
    """

    name: str
    about: str
    distribution: str
    target: str
    restates: str
    group: str = LIBRARIES
    report: str | None = None
    roots: str = "first"

    @cached_property
    def version(self) -> str:
        return self.installed or f"restated-{self.restates}"

    @cached_property
    def installed(self) -> str | None:
        return installed_release(self.distribution)

    def run(self, tracer: Tracer) -> None:
        """Its own code in a process of its own, what it hands to decoders as attempts; else the re-statement."""
        if not self.installed:
            self.restate(tracer)
            return
        try:
            outcome = process_of(self.target).parse(tracer.raw)
        except NotStarted as error:
            tracer.fail("start", Span(0, len(tracer.raw)), f"not run: {error}")
        else:
            record_outcome(tracer, outcome)

    def restate(self, tracer: Tracer) -> None:
        raise NotImplementedError


def installed_release(distribution: str) -> str | None:
    """The installed release of a library, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def adapter(function: str) -> str:
    """The target of an entry point in `capture/adapters.py`."""
    return f"{CHILD.with_name('adapters.py')}:{function}"


process_of = cache(ParserProcess)
