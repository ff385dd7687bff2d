"""Parsers of somebody's own as profiles: run unchanged in a process of their own, as the operator configured them."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache

from webapp.capture import specs
from webapp.capture.command import CommandProcess
from webapp.capture.process import NotStarted, ParserProcess
from webapp.capture.specs import BadSpec, ParserSpec
from webapp.parsing.edit import Span
from webapp.parsing.engine import Profile, Tracer
from webapp.parsing.outcomes import record_outcome
from webapp.parsing.profiles._about import OWN
from webapp.parsing.trace import ABSENT

_COMMAND = (
    "It answers each response with a line of JSON. Its attempts are what it says of them itself: the texts that it "
    "decoded, or a trace. Nothing of what it does can be seen from outside."
)
_SEEN = (
    "Each text that it hands to a decoder is an attempt, with the line that called.\n"
    "What cannot be seen: a decoder written in C that was bound before the hooks were (orjson in a program that "
    "preloads it), pydantic models built before them, eval and exec, and what runs in other processes. Where such a "
    "decoder gave the value, the trace says that none of the recorded ones did."
)


class OwnParser:
    """A configured parser; `version` is a digest of what decides its value, so that a changed one is run again."""

    group = OWN
    report = None
    roots = "first"

    def __init__(self, spec: ParserSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.help = f"Your own, run unchanged: {spec.target}"
        where = f"in {spec.folder}" if spec.command else f"by {spec.python} in {spec.folder}"
        limits = f"{spec.seconds:g} s and {spec.memory >> 20:,} MB for a response"
        self.about = (
            f"{spec.target}, run {where}, in a process of its own with at most {limits}; configured by {spec.origin}. "
            f"{_COMMAND if spec.command else _SEEN}"
        )

    @cached_property
    def _state(self) -> tuple[str, str | None]:
        """The version, and why it cannot run where it cannot."""
        try:
            return process_of(self.spec).version(), None
        except NotStarted as error:
            return ABSENT, str(error)

    @property
    def version(self) -> str:
        return self._state[0]

    @property
    def trouble(self) -> str | None:
        """Why it cannot run here; None where it can."""
        return self._state[1]

    def run(self, tracer: Tracer) -> None:
        if self.trouble:
            return
        try:
            outcome = process_of(self.spec).parse(tracer.raw)
        except NotStarted as error:
            tracer.fail("start", Span(0, len(tracer.raw)), str(error))
        else:
            record_outcome(tracer, outcome)


@cache
def process_of(spec: ParserSpec) -> ParserProcess:
    process = ParserProcess(spec) if spec.command is None else CommandProcess(spec)
    atexit.register(process.close)
    return process


def profiles(reserved: Mapping[str, Profile] | None = None) -> Mapping[str, Profile]:
    """The configured parsers by name. Raises `BadSpec`, also where one is called like a profile that is `taken`."""
    configured = specs.configured()
    for name in reserved or ():
        if name in configured:
            raise BadSpec(f"{configured[name].origin}: {name!r} is the name of a profile of Fencepost; give it another")
    return {name: _profile(spec) for name, spec in configured.items()}


_profile = lru_cache(maxsize=256)(OwnParser)
