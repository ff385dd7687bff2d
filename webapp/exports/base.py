"""What an export is, and the labelled responses that it gets."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from webapp import jsontext, plugins
from webapp.refusals import WrongUse

PACKAGE = "webapp.exports.formats"


class UnknownExport(WrongUse):
    """No export format has that name; the message lists those that there are."""


@dataclass(frozen=True, slots=True)
class ExportFacts:
    """What an export says of itself: when it was made (UTC), of what, by which version, and what it hides.

    A format that leaves responses out counts them in `left_out`, by the reason (`meant`).
    """

    made_at: datetime
    scope: str
    version: str
    redacted: str | None = None
    left_out: Counter[str] = field(default_factory=Counter, compare=False)

    def sentence(self) -> str:
        """One line for a comment or a header."""
        hidden = f"; redacted: {self.redacted}" if self.redacted else ""
        return f"Fencepost {self.version}, {self.made_at:%Y-%m-%d %H:%M} UTC, {self.scope}{hidden}"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format. `pieces` streams: it is given labelled responses or a `SessionView`, and holds a few rows at a time."""

    name: str
    takes: Literal["labels", "sessions"]
    suffix: str
    media_type: str
    pieces: Callable[[Any, ExportFacts], Iterator[bytes]]
    help: str = ""
    """its line in lists; without one the first line of its module"""


class Sink(io.RawIOBase):
    """Takes what a library writes front to back, as a zip or Parquet, and hands it on."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        return memoryview(data).nbytes

    def taken(self) -> bytes:
        held, self._held = self._held, bytearray()
        return bytes(held)


def formats(takes: str) -> dict[str, ExportFormat]:
    """The formats that take `labels` or `sessions`, by name."""
    return {name: plugin for name, plugin in sorted(plugins.collect(PACKAGE).items()) if plugin.takes == takes}


def described(takes: str) -> list[tuple[str, str]]:
    """Each format's name and its help."""
    helps = plugins.help_of(PACKAGE)
    return [(name, helps.get(name, "")) for name in formats(takes)]


def find(name: str, takes: str) -> ExportFormat:
    """The format called `name`; raises `UnknownExport`."""
    by_name = formats(takes)
    if name not in by_name:
        raise UnknownExport(f"no format for {takes} is called {name[:100]!r}; there are {', '.join(by_name)}")
    return by_name[name]


SPLITS = ("dev", "test")
_DRAW = b"fencepost split 1:"
"""drawn once: with another text every response would be drawn anew"""


def split_of(raw_sha256: bytes) -> str:
    """ "dev" or "test", by a hash of the hash of the text: the same for the same text, wherever and whenever."""
    return SPLITS[hashlib.sha256(_DRAW + raw_sha256).digest()[0] & 1]


def split_of_text(raw: str) -> str:
    """As `split_of`, of the text itself."""
    return split_of(hashlib.sha256(raw.encode("utf-8", "surrogatepass")).digest())


REDACTED = "█"
"""What stands for one redacted code point."""


@dataclass(frozen=True, slots=True)
class LabelView:
    """What one person said of a response. Times are ISO 8601 in UTC; `seconds` is how long they looked at it.

    `expects` is one, several, none (no JSON is meant) or unknown (cut off), None where nothing was said of it;
    `expected` the value for one, the list of values for several.
    """

    author: str
    judgement: str
    cause: str | None
    expects: str | None
    expected: Any
    note: str | None
    made_at: str
    seconds: float | None = None
    history: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Redaction:
    """A stretch `[start, end)` of `raw`, in code points, whose characters were replaced one by one."""

    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True)
class LabelledResponse:
    """A response with its labels. `final` is what holds: settled, agreed or said by one alone; None in disagreement.
    `settled` says how a disagreement was settled: author, judgement, cause, expects, expected, why, made_at, history.

    `verdict` and `truncated` are what `fencepost` says of it; `position` counts the session's turns from 0.
    """

    session: str
    key: str
    revision: int
    position: int
    raw: str
    raw_sha256: str
    model: str | None
    agent: str | None
    phase: str | None
    format: str
    home: str
    verdict: str | None
    truncated: bool
    labels: tuple[LabelView, ...]
    final: LabelView | None
    settled: dict[str, Any] | None = None
    contract: str | None = None
    """its state under what its request declares; None where the log does not say that"""
    host: str | None = None
    redactions: tuple[Redaction, ...] = field(default=())

    @property
    def split(self) -> str:
        """Whether it is for tuning a parser (dev) or for testing it (test)."""
        return split_of(bytes.fromhex(self.raw_sha256))

    @property
    def name(self) -> str:
        """What a test or a file calls it: unlike any other's in the same store."""
        return f"{self.key}-{self.position}"

    @property
    def called(self) -> str:
        """What people read of it in a list of tests: session, turn, first words, and the name."""
        return f"{self.session} turn {self.position}: {' '.join(self.raw[:200].split())[:40]} ({self.name})"


class Meaning(Protocol):
    """What somebody says that a response means: see `LabelView`."""

    @property
    def expects(self) -> str | None: ...

    @property
    def expected(self) -> Any: ...


def expected_values(meaning: Meaning | None) -> list[Any] | None:
    """The values that should come out, in order; [] where no JSON is meant; None where it is not known."""
    if meaning is None or meaning.expects in (None, "unknown"):
        return None
    if meaning.expects == "none":
        return []
    return list(meaning.expected) if meaning.expects == "several" else [meaning.expected]


def why_unknown(meaning: Meaning | None) -> str:
    """Why `expected_values` knows nothing of labels whose final `meaning` this is."""
    if meaning is None:
        return "on which people disagree"
    return "labelled as undecidable" if meaning.expects == "unknown" else "without an expected value"


def left_out_sentence(left_out: Mapping[str, int]) -> str:
    """How many labelled responses an export does not hold, by `why_unknown`."""
    if not any(left_out.values()):
        return "No labelled response is left out."
    count = sum(left_out.values())
    reasons = "; ".join(f"{number:,} {why}" for why, number in sorted(left_out.items()))
    are = "response without a known value is" if count == 1 else "responses without a known value are"
    return f"{count:,} labelled {are} left out: {reasons}."


def meant(
    responses: Iterable[LabelledResponse], left_out: Counter[str]
) -> Iterator[tuple[LabelledResponse, LabelView, list[Any]]]:
    """The responses of which it is known what they mean, each with who says so and the values; counts the others."""
    for response in responses:
        values = expected_values(response.final)
        if values is not None and response.final is not None:
            yield response, response.final, values
        else:
            left_out[why_unknown(response.final)] += 1


def origin(response: LabelledResponse, label: LabelView) -> dict[str, Any]:
    """Where an example comes from and who says so."""
    return {
        **_fields(response, "session", "position", "model", "split"),
        **_fields(label, "cause", "author", "made_at", "note"),
        "history": list(label.history),
    }


def settlement(settled: dict[str, Any]) -> str:
    """Who settled a disagreement and why, in words."""
    return f"settled by {settled['author']}, {settled['made_at']}: {settled['why'] or 'no reason given'}"


def facts(response: LabelledResponse, label: LabelView) -> list[str]:
    """Who says what of a response and why, one line each, as a comment beside an example has it."""
    lines = [f"{label.judgement} by {label.author}, {label.made_at}"]
    lines += [f"cause: {label.cause}"] if label.cause else []
    lines += [f"note: {label.note}"] if label.note else []
    lines += [settlement(response.settled)] if response.settled else []
    return lines + ([f"history: {jsontext.portable(list(label.history))}"] if label.history else [])


def past(label: LabelView) -> list[str]:
    """What happened to a label, one line an event, the oldest first."""
    lines = []
    for event in label.history:
        words = [event.get(name, "") for name in ("happened_at", "author", "action")]
        judgement = (event.get("said") or {}).get("judgement") or ""
        lines.append(" ".join(map(str, [*words, judgement])).strip())
    return lines


def rows(response: LabelledResponse) -> Iterator[dict[str, Any]]:
    """One flat row a label, in the form that `fencepost label import` takes back."""
    for label in response.labels:
        yield {
            **_fields(response, "session", "key", "revision", "position", "raw_sha256"),
            **_fields(label, "author", "judgement", "cause", "expects", "expected", "note", "seconds", "made_at"),
            "history": list(label.history),
            "final": response.final is not None and response.final == label,
            **_fields(response, "settled", "model", "agent", "phase", "format", "home", "verdict", "split", "raw"),
            **_fields(response, "contract", "host"),
            "redacted": [[mark.start, mark.end, mark.rule] for mark in response.redactions],
        }


def _fields(view: LabelledResponse | LabelView, *names: str) -> dict[str, Any]:
    return {name: getattr(view, name) for name in names}
