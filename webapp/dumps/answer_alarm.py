"""What a dump was read without: sessions whose answers are missing or empty, and facts that no response carries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from webapp.dumps import programs
from webapp.dumps.json_path import long_texts
from webapp.dumps.records import MODEL_KINDS, Problem, Record, Turn
from webapp.dumps.values import as_object

MOST_NAMED = 20
"""How many sessions of a dump are named; the others are counted."""
EMPTY_SHARE = 1 / 3
"""Of a session's answers, or calls: from here on that they are empty is no accident. Real logs have next to none."""
_ANSWER_KEY = re.compile(r"answer|complet|respon|output|repl[iy]|generat|predict|result|assistant|said", re.I)
_OTHER_KEY = re.compile(r"format|schema|config|expected|token|time|id$|usage|metric|param|type|model$", re.I)
"""What may hold an answer beside a session's entries, by its name, and what does not."""
_UNRECORDED = (
    "answered requests stand here with their tokens and without their texts: have the program record contents, too "
    "(OpenTelemetry: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
)
_SAMPLES = 3
_MOST_KEYS = 12


class MissingAnswers(Problem):
    """A problem that nothing damaged: the dump was read, and what its models answered was not."""


@dataclass(slots=True)
class SessionAnswers:
    """What was read of one session, and the first of its entries that said nothing."""

    name: str
    kinds: Counter[str] = field(default_factory=Counter)
    """how many turns of each kind there are"""
    empty: Counter[str] = field(default_factory=Counter)
    """and how many of a model's are empty"""
    bare: int = 0
    """calls without arguments: an empty text, which a stream gives, is no loss, unless most calls are so"""
    blank: int = 0
    """those of them that neither came in a stream nor have none by their kind"""
    last: str = ""
    """the kind of the last turn in which somebody spoke"""
    thoughts: int = 0
    """turns in which a model thought"""
    unrecorded: int = 0
    """calls of a model that are logged with their tokens, and no text"""
    without_text: int = 0
    """answers that were read and are empty"""
    mute: int = 0
    """turns of which nothing at all is known"""
    samples: list[Any] = field(default_factory=list)
    about: dict[str, Any] | None = None
    """what stands beside the entries: where they hold no answer, it may"""

    def add(self, turn: Turn) -> None:
        self.kinds[turn.kind] += 1
        is_bare = turn.kind == "tool_call" and turn.raw == "" and bool(turn.tool_calls)
        self.thoughts += turn.role == "thinking"
        is_billed = turn.stop is not None and turn.tokens_out is not None  # a finding says that nothing arrived
        says_nothing = not turn.raw and not is_bare and not is_billed
        if says_nothing and turn.kind in MODEL_KINDS and _is_read(turn):
            self.without_text += 1
            says_nothing = False
        if turn.kind == "event":
            self.mute += not (turn.raw or turn.role or turn.phase or turn.agent)
            self.unrecorded += turn.raw is None and bool(turn.tokens_out)
        else:
            self.last = turn.kind
        if turn.kind in MODEL_KINDS:
            self.empty[turn.kind] += says_nothing
            self.bare += is_bare
            self.blank += is_bare and not (turn.tool_calls and as_object(turn.tool_calls[0]).get("without_arguments"))
        if says_nothing and len(self.samples) < _SAMPLES and isinstance(turn.source, dict):
            self.samples.append(turn.source)

    def problem(self) -> Problem | None:
        """What is wrong with what was read: `MissingAnswers` where much of it is missing, else a problem like others.

        None where nothing seems to be, or errors are all that came.
        """
        count, prompts, calls = self.kinds.total(), self.kinds["prompt"], self.kinds["tool_call"]
        answers, empty = self.kinds["response"] + calls, self.empty.total()
        if self.kinds["error"] and self.kinds["error"] + prompts == count:
            return None
        if self.thoughts and not answers:
            return Problem(self._place, "only what its model thought was read: no answer and no call follows it")
        if answers == empty:
            turns = "its only turn" if count == 1 else f"its {count:,} turns"
            if not count:
                return MissingAnswers(self._place, "it is empty: it has no entries")
            if self.unrecorded and not answers:
                return MissingAnswers(self._place, f"{self.unrecorded:,} {_UNRECORDED}")
            return self._named(f"no answer of a model was read from {turns}")
        for kind, words in (("response", "answers"), ("tool_call", "tool calls")):
            if self.empty[kind] and self.empty[kind] >= EMPTY_SHARE * self.kinds[kind]:
                return self._named(f"{self.empty[kind]:,} of its {self.kinds[kind]:,} {words} are empty")
        if self.bare > 1 and 2 * self.bare > calls:
            return self._named(f"{self.bare:,} of its {calls:,} tool calls have no arguments")
        if 2 * self.mute > count:
            return self._named(f"nothing was read from {self.mute:,} of its {count:,} entries")
        if not prompts and self.mute > 1 and 2 * self.mute == count:  # one side of two
            counts = f"{self.mute:,} of its {count:,} entries"
            reason = self._named(f"no prompt was read, and nothing from {counts}").reason
            return Problem(self._place, reason.partition("; try --map")[0])
        if empty:
            counts = f"{empty:,} of its {answers:,} answers and calls are empty"
            return Problem(self._place, self._named(counts).reason)
        if self.blank:
            counts = f"{self.blank:,} of its {calls:,} tool calls"
            return Problem(self._place, f"{counts} have an empty text as arguments")
        if self.without_text:
            counts = f"{self.without_text:,} of its {answers:,} answers and calls"
            return Problem(self._place, f"{counts} came without a text")
        return self._beside() if self.last == "prompt" and self.about else None

    @property
    def _place(self) -> str:
        return f"session {self.name[:200]!r}"

    def _beside(self) -> Problem | None:
        """What may be the answer to the last prompt and stands beside the entries, which were read."""
        about = self.about or {}
        keys = [key for key in about if _ANSWER_KEY.search(key) and not _OTHER_KEY.search(key)]
        if not (paths := long_texts([{key: about[key] for key in keys}])):
            return None
        where = ", ".join(paths)
        reason = f"it ends with a prompt, and a text next to its messages was not read as an answer (texts at {where})"
        return Problem(self._place, f"{reason}; try --map raw={paths[0]}")

    def _named(self, reason: str) -> MissingAnswers:
        samples = self.samples or ([self.about] if self.about else [])
        keys = list(dict.fromkeys(repr(str(key)[:40]) for sample in samples for key in sample))[:_MOST_KEYS]
        paths = long_texts(samples)
        about = [f"keys: {', '.join(keys)}" if keys else "", f"texts at {', '.join(paths)}" if paths else ""]
        shape = "; ".join(part for part in about if part)
        advice = f"--map raw={paths[0]}, or --format NAME" if paths else "--format NAME, or --map raw=$.PATH"
        return MissingAnswers(self._place, f"{reason}{f' ({shape})' if shape else ''}; try {advice}")


def _is_read(turn: Turn) -> bool:
    """Whether an answer without a text was read: none arrived, or its stream broke off."""
    facts = (turn.stop, turn.tokens_out, turn.tokens_reasoning)
    return any(fact is not None for fact in facts) or "stream" in as_object(turn.source)


def watched(records: Iterable[Record]) -> Iterator[Record]:
    """Pass the records on; behind each session say what seems to be missing of it."""
    session: SessionAnswers | None = None
    count = 0
    for record in chain(records, (None,)):
        if isinstance(record, Turn):
            if session is not None:
                session.add(record)
        elif not isinstance(record, Problem):  # another session begins, or the log ends
            if session is not None:
                problem = session.problem()
                count += problem is not None
                if problem is not None and count <= MOST_NAMED:
                    yield problem
            about = {} if record is None else {key: value for key, value in record.extra.items() if key != programs.KEY}
            session = None if record is None else SessionAnswers(record.external_id, about=about)
        if record is not None:
            yield record
    if count > MOST_NAMED:
        yield MissingAnswers("the log", f"{count:,} sessions in total have no answers, or mostly empty ones")


WORDS = {
    "arguments_written": "arguments as the model wrote them",
    "declared": "declared tools and response format",
    "cap": "token cap",
    "stop": "stop reason",
    "host": "provider or host",
    "tokens_in": "tokens in",
    "tokens_out": "tokens out",
    "tokens_reasoning": "reasoning tokens",
}
"""what a log may lack, by the names of the API"""


def facts_of(turn: Turn) -> Iterator[tuple[str, str]]:
    """The columns of docs/formats.md that a turn that a model wrote fills, each with its word."""
    declared = turn.declared or {}
    yield "text" if turn.kind == "response" else "arguments", turn.arguments or "yes"
    tokens = {"in": turn.tokens_in, "out": turn.tokens_out, "reasoning": turn.tokens_reasoning}
    yield from (("tokens", name) for name, count in tokens.items() if count is not None)
    facts = {"declared": declared.keys() - {"max_tokens", "model"}, "cap": declared.get("max_tokens")}
    facts |= {"stop": turn.stop, "host": turn.host}
    yield from ((name, "yes") for name, fact in facts.items() if fact)


@dataclass(slots=True)
class Carried:
    """What the responses of a dump carried so far."""

    facts: set[tuple[str, str]] = field(default_factory=set)

    def see(self, turn: Turn) -> None:
        """Another turn was read."""
        if turn.written_by_model:
            self.facts.update(facts_of(turn))

    def missing(self) -> list[str] | None:
        """The names in `WORDS` that no response has; None before the first response."""
        if not self.facts:
            return None
        present = {name for column, word in self.facts for name in (column, f"{column}_{word}")}
        if (
            "arguments_decoded" not in present or "arguments_free" in present
        ):  # nothing is lost where nothing was decoded
            present.add("arguments_written")
        return [name for name in WORDS if name not in present]


def in_words(missing: Iterable[str]) -> str:
    """`declared tools and response format, stop reason`."""
    return ", ".join(WORDS[name] for name in missing)
