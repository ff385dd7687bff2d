"""The engine: runs a profile over a raw text, applies its edits, decodes, and writes the trace down."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol, TypedDict, Unpack

from webapp import plugins
from webapp.parsing import patterns, verdicts
from webapp.parsing.decode import Failure, decode
from webapp.parsing.edit import Edit, Span, apply, places
from webapp.parsing.trace import ABSENT, Attempt, Fault, Flag, Site, Trace
from webapp.refusals import NotPossible, NotThere

PACKAGE = "webapp.parsing.profiles"
_NOWHERE = Span(0, 0)
RAISES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""what a user's own profile may raise; ours promise not to"""


class UnknownProfile(NotThere):
    """No profile has that name; the message lists those that exist."""

    exit_code = 2


class Profile(Protocol):
    """A named, versioned parser. `run` proposes attempts to the tracer, in the order its parser tries them."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def run(self, tracer: Tracer) -> None: ...


class _Told(TypedDict, total=False):
    """What an attempt says of itself beside its outcome."""

    note: str | None
    site: Site | None


@dataclass(slots=True)
class Tracer:
    """What a profile talks to: it proposes spans and edits, the tracer decodes them and keeps every one.

    Set `truncated`, `ambiguous` or `exhausted` where that is so; `policy` names the policies that decided.
    `refused` is the first span in which the decoder found that no JSON goes on, at `refused_at` (0: none yet).
    """

    raw: str
    attempts: list[Attempt] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    offered: bool = False
    truncated: bool = False
    ambiguous: bool = False
    exhausted: bool = False
    flags: list[Flag] = field(default_factory=list)
    policy: Mapping[str, str] = field(default_factory=dict)
    own: Callable[[], Trace] | None = None
    refused: Span = _NOWHERE
    refused_at: int = 0
    _counted: tuple[int, int] = field(default=(0, 1), repr=False)

    def attempt(
        self,
        strategy: str,
        span: Span,
        edits: Sequence[Edit] = (),
        *,
        note: str | None = None,
        strict: bool = True,
        offers: bool = True,
        finite: bool = False,
    ) -> Attempt:
        """Apply `edits` to `span`, decode, record and return the attempt: accepted with its value, or failed.

        A failure with `offers=False` does not make the verdict *failed*: nothing there claimed to be JSON.
        With `finite`, NaN and Infinity are failures, as RFC 8259 has it.
        """
        edits = tuple(edits)
        text = apply(self.raw, span, edits)
        decoded = decode(text, strict=strict, finite=finite)
        fault = self._fault(decoded.failure, span, edits) if decoded.failure else None
        if fault and not edits and not self.refused_at and _is_refusal(fault):
            self.refused, self.refused_at = span, fault.at
        outcome = "failed" if fault else "accepted"
        self.offered = self.offered or (offers and fault is not None)
        is_json = not fault and not edits and (finite or (strict and "NaN" not in text and "Infinity" not in text))
        attempt = Attempt(strategy, span, outcome, None, edits, None, fault, note, decoded.value, is_json=is_json)  # type: ignore[arg-type]
        return self._keep(attempt)

    def record(
        self,
        strategy: str,
        span: Span,
        value: Any,
        edits: Sequence[Edit] = (),
        *,
        is_json: bool = False,
        **told: Unpack[_Told],
    ) -> Attempt:
        """Keep an accepted attempt whose value is known to be what `edits` applied to `span` decode to."""
        return self._keep(Attempt(strategy, span, "accepted", None, tuple(edits), value=value, is_json=is_json, **told))

    def reject(self, strategy: str, span: Span, reason: str, *, note: str | None = None) -> Attempt:
        """Record a candidate that was looked at and not decoded, and why."""
        return self._keep(Attempt(strategy, span, "rejected", reason, (), None, None, note))

    def fail(
        self, strategy: str, span: Span, reason: str, edits: Sequence[Edit] = (), **told: Unpack[_Told]
    ) -> Attempt:
        """Record a step at which the parser itself gave up (an exception of its own), and why, without a place."""
        self.offered = True
        return self._keep(Attempt(strategy, span, "failed", reason, tuple(edits), **told))

    def probe(self, span: Span, edits: Sequence[Edit], *, strict: bool = True) -> Failure | None:
        """Decode without a record, for loops that try again and again: the failure, or None where it decodes."""
        return decode(apply(self.raw, span, edits), strict=strict).failure

    def fault(
        self, strategy: str, span: Span, edits: Sequence[Edit], failure: Failure, **told: Unpack[_Told]
    ) -> Attempt:
        """Record an attempt that another decoder failed at; `failure.at` counts in the text that it was given."""
        self.offered = True
        fault = self._fault(failure, span, tuple(edits))
        return self._keep(Attempt(strategy, span, "failed", None, tuple(edits), error=fault, **told))

    def own_reading(self) -> Trace:
        """What Fencepost makes of the text, which other parsers ask where they failed."""
        return self.own() if self.own else parse(self.raw)

    def amend(self, attempt: Attempt, **changes: Any) -> Attempt:
        """Replace a recorded attempt, for example to reject what decoded but was not wanted."""
        index = self.index(attempt)
        self.attempts[index] = replace(attempt, **changes)
        return self.attempts[index]

    def choose(self, attempt: Attempt) -> None:
        """Make an accepted attempt part of the result."""
        self.chosen.append(self.index(attempt))

    def index(self, attempt: Attempt) -> int:
        """Where `attempt` (this very object) stands among the attempts; the newest are looked at first."""
        for index in range(len(self.attempts) - 1, -1, -1):
            if self.attempts[index] is attempt:
                return index
        raise ValueError("no such attempt in this trace")

    def trace(self, profile: str, version: str, microseconds: int) -> Trace:
        """What was written down so far, as the trace of this profile."""
        for index in self.chosen:
            start, end = self.attempts[index].span
            refused = start == self.refused.start and start < self.refused_at < end <= self.refused.end
            self.attempts[index], flag = verdicts.settled(self.raw, self.attempts[index], refused=refused)
            self.flags += [flag] if flag else []
        return Trace(
            profile,
            version,
            verdicts.verdict(self.raw, [self.attempts[index] for index in self.chosen], offered=self.offered),
            tuple(self.attempts),
            tuple(self.chosen),
            tuple([self.attempts[index].value for index in self.chosen]),
            self.truncated,
            self.ambiguous,
            self.exhausted,
            self.policy,
            microseconds,
            tuple(self.flags),
        )

    def _keep(self, attempt: Attempt) -> Attempt:
        self.attempts.append(attempt)
        return attempt

    def _fault(self, failure: Failure, span: Span, edits: tuple[Edit, ...]) -> Fault:
        at = places(span, edits).at(failure.at)
        line, column = self._place(at)
        return Fault(failure.type, failure.message, at, line, column, failure.wording)

    def _place(self, at: int) -> tuple[int, int]:
        """As `span.place`, counted from the last failure's place, since many failures would make that quadratic."""
        last, line = self._counted if self._counted[0] <= at else (0, 1)
        self._counted = at, line + self.raw.count("\n", last, at)
        return self._counted[1], at - self.raw.rfind("\n", 0, at)


def _is_refusal(fault: Fault) -> bool:
    """Whether the text was no JSON at the place of the fault, whatever follows it."""
    return fault.type == "JSONDecodeError" and fault.message != "Extra data"


def profiles() -> dict[str, Profile]:
    """Every profile by name, the configured ones first. Raises `BadSpec` where those cannot be read."""
    built_in = plugins.collect(PACKAGE)
    return {**_configured().profiles(built_in), **dict(sorted(built_in.items()))}


def helps() -> dict[str, str]:
    """A line of help for each profile, by its name."""
    lines = plugins.help_of(PACKAGE)
    return {name: getattr(entry, "help", None) or lines.get(name, "") for name, entry in profiles().items()}


def _configured() -> Any:
    """The module of the parsers that people configured; loaded like a plugin, since it stands above this one."""
    return importlib.import_module(f"{PACKAGE}._configured")


def profile(name: str) -> Profile:
    """The profile called `name`; raises `UnknownProfile`."""
    match: Profile | None = plugins.find(PACKAGE, name, lambda: _configured().profiles())
    if match is None:
        raise UnknownProfile(f"no profile is called {name!r}; there are {', '.join(profiles())}")
    return match


def parse(raw: str, using: str | Profile = "fencepost", own: Callable[[], Trace] | None = None) -> Trace:
    """Run a profile over `raw` and return its trace. Never raises on any `str`; `UnknownProfile` for a bad name.

    Who has the trace of `fencepost` hands it over by `own`, so that a profile that asks for it does not make it again.
    """
    chosen_profile = profile(using) if isinstance(using, str) else using
    tracer = Tracer(raw, own=own)
    started = time.perf_counter_ns() - patterns.spent()
    chosen_profile.run(tracer)
    elapsed = time.perf_counter_ns() - patterns.spent() - started
    return tracer.trace(chosen_profile.name, chosen_profile.version, elapsed // 1000)


def readings(raw: str) -> Callable[[str | Profile], Trace]:
    """As `parse` of one text under many profiles, for all of which `fencepost` reads it once. One that breaks its
    promise and raises has failed, and its trace says so."""
    ours = cache(lambda: parse(raw))

    def read(using: str | Profile) -> Trace:
        chosen = profile(using) if isinstance(using, str) else using
        try:
            return ours() if chosen.name == "fencepost" else parse(raw, chosen, ours)
        except RAISES as error:
            tracer = Tracer(raw)
            broke = f"the profile itself broke: {type(error).__name__}: {error}"[:300]
            tracer.fail(chosen.name, Span(0, len(raw)), broke)
            return tracer.trace(chosen.name, chosen.version, 0)

    return read


class NotInstalled(NotPossible):
    """A profile cannot run here; the message says why."""

    status, code = 409, "not_installed"


def why_absent(profile: Any) -> str | None:
    """Why a configured parser cannot run, which is what came of starting it; None where it can."""
    trouble: str | None = getattr(profile, "trouble", None)
    return trouble


def not_run(profile: str, version: str) -> str | None:
    """Why a trace of this version is none; None for every other trace."""
    if version != ABSENT:
        return None
    return why_absent(profiles().get(profile)) or f"{profile} could not run"


def refuse_absent(profile: Any) -> None:
    if words := why_absent(profile):
        raise NotInstalled(f"{profile.name} cannot run, since {words}")
