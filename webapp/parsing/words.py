"""Sentences about traces, attempts, edits and sessions: the one set of words of pages, terminal and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from webapp.parsing import engine
from webapp.parsing.edit import Edit, place
from webapp.parsing.engine import not_run
from webapp.parsing.trace import Attempt, Fault, Flag, Site, Trace, unfit_sentence
from webapp.parsing.verdicts import UNCHANGED, UNSEEN
from webapp.plugins import defect
from webapp.visible import clipped

VERDICTS = {
    "clean": "the response is JSON",
    "extracted": "JSON was found unchanged inside other text",
    "repaired": "a value was read from text that is not JSON",
    "failed": "JSON was meant, and no value was read",
    "none": "the response contains no candidate for JSON",
}
VERDICT_NAMES = {name: name for name in VERDICTS} | {"none": "no JSON found", "not_run": "not run"}
"""What pages and reports call the verdicts."""
MARKS = {"clean": "●", "extracted": "○", "repaired": "◆", "failed": "✕", "none": "·"}
FLAGS = {
    "truncated": "the response is cut off",
    "exhausted": "the search stopped at its limit",
}
PLACED_FLAGS = {
    "several_values": "one of several values",
    "left_over": "something was left over",
    "swallowed_keys": "a string may have swallowed keys",
    "closed_by_guess": "closed by guess",
    "bare_word": "a word without quotes may be true, false or null",
    "draft": "a draft, out of a thought",
    "changed_afterwards": "the program changed the value afterwards",
}
"""What each flag of a trace says, to which its place is added."""
KINDS = {kind: kind.replace("_", " ") for kind in ("prompt", "response", "tool_call", "tool_result", "error", "event")}
_NAMED = {'"': "a double quote", "'": "a single quote", "`": "a backtick", "\\": "a backslash"}
LONGEST_CHANGE = 80
"""Characters of an edit's text that a sentence quotes."""


def counted(count: int, noun: str, many: str | None = None) -> str:
    """`1 edit`, `2,000 edits`; `many` where more of them are not named by an s."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def chosen_edits(trace: Trace) -> list[Edit]:
    return [edit for index in trace.chosen for edit in trace.attempts[index].edits]


def repair_names(edits: Iterable[Edit]) -> list[str]:
    """What the edits' repairs are called, each once: `extra closing bracket`."""
    return list(dict.fromkeys(defect(edit.repair) for edit in edits))


def wording(message: str) -> str:
    """The decoder's message without the "at" on which some end, since a place follows anyway."""
    return message.removesuffix(" at")


def filled(note: str, model: str | None = None, operation: str | None = None) -> str:
    """A program's own line with the names that its template has a place for, as far as the turn knows them."""
    return note.replace("{model}", model or "the model").replace("{operation}", operation or "the operation")


def called(profile: str) -> str:
    """A profile's name as pages say it: `direct` is what everybody calls json.loads."""
    return "json.loads" if profile == "direct" else profile


def in_python(profile: str) -> str:
    """What to say beside an error of a parser in another language; "" where its words are its own."""
    original = getattr(engine.profiles().get(profile), "original", "")
    return f"in the words of Python's decoder: the parser is {original}" if original else ""


def fault_sentence(fault: Fault) -> str:
    """The decoder's words with the place in the response: `Extra data at line 4, column 62, offset 91`."""
    return f"{wording(fault.message)} at line {fault.line}, column {fault.column}, offset {fault.at}"


CALL_REPAIRS = frozenset(("call_markup", "call_syntax"))
FAMILIES = {
    "｜DSML｜": "DeepSeek",
    "<function=": "Qwen",
    "<antml:": "Claude",
    "<tool_call>": "GLM",
    "call:": "Gemma",
    "<": "tagged",
    "": "Python",
}
"""Whose notation a call is in that begins so, the first that fits; tags that several models write have no name."""


def call_sentence(attempt: Attempt) -> str | None:
    """What a call that is well formed but no JSON is: `a Qwen call of f with 3 arguments`; None for anything else."""
    if not attempt.edits or not CALL_REPAIRS.issuperset({edit.repair for edit in attempt.edits}):
        return None
    value = attempt.value if isinstance(attempt.value, dict) else {}
    arguments = value.get("arguments")
    many = f" with {counted(len(arguments), 'argument')}" if isinstance(arguments, dict) else ""
    family = next(name for begin, name in FAMILIES.items() if begin in attempt.edits[0].old)
    return f"a {family} call of {clipped(str(value.get('name')), LONGEST_CHANGE)}{many}"


def change_sentence(edit: Edit) -> str:
    """What an edit does: `removes "}}"`, `inserts ":"`, `replaces "None" by "null"`."""
    if edit.repair in CALL_REPAIRS and len(edit.new) > 1:
        return "reads the markup of a call"
    old, new = (_NAMED.get(text) or f'"{clipped(text, LONGEST_CHANGE)}"' for text in (edit.old, edit.new))
    return f"replaces {old} by {new}" if edit.old and edit.new else f"removes {old}" if edit.old else f"inserts {new}"


def edit_sentence(raw: str, edit: Edit) -> str:
    """For example `extra_closer at line 5, column 62: removes "}}"`."""
    line, column = place(raw, edit.span.start)
    return f"{edit.repair} at line {line}, column {column}: {change_sentence(edit)}"


def repairs_sentence(attempt: Attempt) -> str:
    """`4 edits: extra closing bracket, trailing comma ×3`."""
    counts = Counter(defect(edit.repair) for edit in attempt.edits)
    names = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
    return f"{counted(len(attempt.edits), 'edit')}: {names}"


def attempt_sentence(attempt: Attempt, chosen: bool) -> str:
    """What became of an attempt, in words."""
    after = f" after {repairs_sentence(attempt)}" if attempt.edits else ""
    if attempt.outcome == "accepted" and chosen and (call := call_sentence(attempt)):
        return f"Accepted: {call}."
    if attempt.outcome == "accepted":
        return f"Accepted{after}." if chosen else f"Decodes{after}, but was not chosen."
    if attempt.outcome == "rejected":
        return f"Discarded{after}: {attempt.reason}."
    if attempt.error and attempt.reason:
        return f"Failed{after}: {attempt.reason}: {fault_sentence(attempt.error)}."
    if attempt.error and only_looked_at(attempt):
        return f"Not JSON as a whole: {fault_sentence(attempt.error)}."
    if attempt.error:
        return f"{fault_sentence(attempt.error)}{after and ',' + after}."
    return f"Failed{after}: {attempt.reason}."


def is_look(trace: Trace, index: int) -> bool:
    """Whether pages and terminal fold an attempt of this trace: one at a place that was only looked at."""
    return len(trace.attempts) > 1 and index not in trace.chosen and only_looked_at(trace.attempts[index])


def only_looked_at(attempt: Attempt) -> bool:
    """Whether nothing was tried: text that does not begin as JSON, or what is none at the first look."""
    if attempt.outcome == "rejected":
        return not attempt.edits
    begins = attempt.error is not None and attempt.error.at == attempt.span.start
    return begins and attempt.strategy == "whole" and not attempt.edits


def site_sentence(site: Site) -> str:
    """Where a recorded parser called its decoder: `parsers.py:41, in parse: return json.loads(text)`."""
    where = f"{site.place}, in {site.function}" if site.function and site.function != "<module>" else site.place
    where += f", through {site.through}" if site.through else ""
    return f"{where}: {site.source}" if site.source else where


def no_trace_sentence(trace: Trace) -> str | None:
    """Why there is no trace to be looked at: the profile was not run, or the stored one does not fit the text."""
    if missing := not_run(trace.profile, trace.version):
        return f"was not run: {missing}"
    return unfit_sentence(trace)


def trace_sentence(trace: Trace) -> str:
    """The verdict of one profile in a sentence, without its name."""
    if missing := no_trace_sentence(trace):
        return missing
    if trace.chosen:
        return _reads(trace)
    if trace.verdict == "failed":
        return _fails(trace)
    ignored = sum(attempt.outcome == "rejected" for attempt in trace.attempts)
    return f"finds no JSON ({counted(ignored, 'candidate')} discarded)" if ignored else "finds no JSON"


def _fails(trace: Trace) -> str:
    """Why no value was read: the decoder's last words on what was meant as JSON, else what the parser itself said."""
    failed = [attempt for attempt in trace.attempts if attempt.outcome == "failed"]
    meant = [attempt for attempt in failed if not only_looked_at(attempt)] or failed
    last = next((attempt for attempt in reversed(meant) if attempt.error), meant[-1] if meant else None)
    if last and last.error and not last.reason:
        return f"stops at line {last.error.line}, column {last.error.column}: {wording(last.error.message)}"
    if not last or not last.reason:
        return "gives up"
    return f"fails: {last.reason}: {fault_sentence(last.error)}" if last.error else f"fails: {last.reason}"


def _reads(trace: Trace) -> str:
    values = "one value" if (count := len(trace.chosen)) == 1 else f"{count} values"
    flags = placed_flags(trace.flags)
    more = f" and {counted(len(flags) - 2, 'flag')} more" if len(flags) > 2 else ""
    flagged = f"; {', '.join(flags[:2])}{more}" if flags else ""
    calls = [call_sentence(trace.attempts[index]) for index in trace.chosen]
    if calls and all(calls):
        return f"reads {', '.join(call for call in calls[:4] if call)}{' …' if len(calls) > 4 else ''}{flagged}"
    if edits := chosen_edits(trace):
        return f"reads {values} after {counted(len(edits), 'edit')} ({', '.join(repair_names(edits)[:4])}){flagged}"
    if trace.verdict == "repaired":
        is_unchanged = all((trace.attempts[index].note or "").endswith(UNCHANGED) for index in trace.chosen)
        return f"reads {values} {(UNCHANGED if is_unchanged else UNSEEN).removeprefix('read ')}{flagged}"
    return f"reads {values}{'' if trace.verdict == 'clean' else ', found inside other text'}{flagged}"


UNKNOWN_SHAPES = (
    ("is plain JSON", "are plain JSON"),
    ("has JSON inside other text", "have JSON inside other text"),
    ("needs repairs", "need repairs"),
    ("cannot be read by Fencepost either", "cannot be read by Fencepost either"),
    ("contains no JSON", "contain no JSON"),
)
"""What can be said of responses whose parser is unknown, in the order of `VERDICTS`: of one, of several."""


def unknown_sentence(responses: int, failed: int, rescued: int, shape: Sequence[int]) -> str:
    """What can be said of a session whose parser nobody named; only what its dump records has failed."""
    pairs = zip(shape, UNKNOWN_SHAPES, strict=True)
    shapes = ", ".join(f"{count:,} {names[count != 1]}" for count, names in pairs if count)
    sentence = f"{counted(responses, 'response')}, parser unknown{': ' if shapes else ''}{shapes}."
    if not failed:
        return sentence
    rescued_part = f"; Fencepost can read {'it' if failed == 1 else f'{rescued:,} of them'}" if rescued else ""
    return f"{sentence} {counted(failed, 'failure')} {'is' if failed == 1 else 'are'} recorded{rescued_part}."


def session_sentence(
    counts: Sequence[int], home: str, findings: str = "", *, shape: Sequence[int] = (0, 0, 0, 0, 0)
) -> str:
    """What went wrong in a session: what its findings say together, then how many responses failed.

    `counts` are all responses, those that failed, those that `fencepost` reads of them, and those of the others that
    `home` was not run over; `shape` says what they are where home is unknown, in the order of `VERDICTS`.
    """
    responses, failed, rescued, not_run = counts
    if not responses:
        return findings or "No response was recorded in this session."
    if home == "unknown":
        sentence = unknown_sentence(responses, failed, rescued, shape)
    elif not failed and not_run == responses:
        sentence = f"Parser `{home}` not run: {counted(responses, 'response')}."
    else:
        reads = "it" if failed == 1 else "all of them" if rescued == failed else f"{rescued:,} of them"
        ending = f"; Fencepost can read {reads}." if rescued else "."
        sentence = f"{failed:,} of {counted(responses, 'response')} failed (parser `{home}`){ending}"
        sentence = sentence if failed else f"{counted(responses, 'response')}, none failed."
        sentence += f" The parser was not run over {not_run:,} of them." if not_run else ""
    return f"{findings} {sentence}" if findings else sentence


def verdict_sentence(trace: Trace) -> str:
    """For example `repaired: decoded after repair, by windlass-balanced 1. 1 value, 1 edit, 2 attempts, 0.21 ms`."""
    if missing := no_trace_sentence(trace):
        return missing
    counts = ((len(trace.values), "value"), (len(chosen_edits(trace)), "edit"), (len(trace.attempts), "attempt"))
    tail = ", ".join((*(counted(*count) for count in counts), milliseconds(trace)))
    return f"{trace.verdict}: {VERDICTS[trace.verdict]}, by {trace.profile} {trace.version}. {tail}"


def milliseconds(trace: Trace) -> str:
    return f"{trace.microseconds / 1000:,.2f} ms"


def placed_flags(flags: Iterable[Flag]) -> list[str]:
    """Each of them with its place: `closed by guess at offset 12`, `something was left over at 3–9`."""
    spans = [(flag, f"{flag.span.start}–{flag.span.end}") for flag in flags]
    return [
        f"{PLACED_FLAGS[flag.kind]} at {span if flag.span.start < flag.span.end else f'offset {flag.span.start}'}"
        for flag, span in spans
    ]


def flag_sentences(trace: Trace) -> list[str]:
    """The flags of a trace that are set."""
    flags = [f"{name}: {meaning}" for name, meaning in FLAGS.items() if getattr(trace, name)]
    return flags + [f"flag: {sentence}" for sentence in placed_flags(trace.flags)]


def policy_sentences(trace: Trace) -> list[str]:
    """The policies of a trace that are set."""
    policies = ", ".join(f"{name} {value}" for name, value in trace.policy.items() if value)
    return [f"policies: {policies}"] if policies else []
