"""Every profile's verdict beside a response: which read the same value, which another, which none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from webapp.parsing import Trace, profiles
from webapp.parsing.edit import apply

EVERY_LENGTH = 50_000
"""Code points up to which every profile is run; a longer text is read by those that are stored or asked for."""
RAISES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a user's own profile may raise; ours promise not to."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One profile's line. Profiles of one `letter` read the same value, None where nothing was read.

    `why` says in words what there is to know beyond the verdict: that it was not run, or what it raised.
    """

    profile: str
    verdict: str | None
    letter: str | None
    same: bool
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """All lines, the one looked at among them; `values` counts the different values that were read."""

    lines: list[Verdict]
    values: int


def order(home: str) -> list[str]:
    """Every profile: the home profile first, then ours, then the others."""
    return list(dict.fromkeys((home, "fencepost", *profiles())))


def read(names: Iterable[str], trace: Callable[[str], Trace]) -> dict[str, Trace | str]:
    """The traces by profile, or in words what a profile raised."""
    found: dict[str, Trace | str] = {}
    for name in names:
        try:
            found[name] = trace(name)
        except RAISES as error:
            found[name] = f"{type(error).__name__}: {error}"[:300]
    return found


def column(raw: str, found: dict[str, Trace | str], names: Iterable[str], current: str) -> Column:
    """The lines in the order of `names`; those that `found` does not hold were not run."""
    values = {name: fingerprint(raw, trace) for name, trace in found.items() if isinstance(trace, Trace)}
    letters: dict[bytes, str] = {}
    for name in names:
        value = values.get(name)
        if value is not None and value not in letters:
            letters[value] = chr(ord("A") + len(letters)) if len(letters) < 26 else "…"
    own = values.get(current)
    lines = []
    for name in names:
        value, trace = values.get(name), found.get(name)
        letter = letters[value] if value is not None else None
        lines.append(Verdict(name, _verdict(trace), letter, value == own, _why(trace)))
    return Column(lines, len(letters))


def fingerprint(raw: str, trace: Trace) -> bytes | None:
    """A digest of what was read, the same for equal values whatever their keys' order; None where nothing was.

    Of a long response, whose values are not at hand, the decoded texts stand for the values.
    """
    if not trace.chosen:
        return None
    chosen = [trace.attempts[index] for index in trace.chosen]
    if len(raw) > EVERY_LENGTH:
        texts = (apply(raw, attempt.span, attempt.edits).strip() for attempt in chosen)
        return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
    try:
        text = json.dumps(trace.values, sort_keys=True, separators=(",", ":"))
    except (RecursionError, ValueError):
        return None
    return hashlib.sha256(text.encode("ascii")).digest()


def _verdict(trace: Trace | str | None) -> str | None:
    return "failed" if isinstance(trace, str) else trace.verdict if trace else None


def _why(trace: Trace | str | None) -> str | None:
    if trace is None:
        return "not run on a text of this length; choose it to run it"
    if isinstance(trace, str):
        return f"the profile itself broke: {trace}"
    return "ended by its budget" if trace.exhausted else None
