"""Codex' patches: lines that begin with + and - under headers of files, between *** Begin Patch and *** End Patch."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from webapp.parsing.edit import Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import AGENTS, described
from webapp.parsing.profiles._steps import Unreadable, derived, whole

BEGIN, END, MOVE, ENVIRONMENT = "*** Begin Patch", "*** End Patch", "*** Move to: ", "*** Environment ID:"
HEADERS = {"*** Add File: ": "add", "*** Delete File: ": "delete", "*** Update File: ": "update"}
SPACE = " \t\n\x0b\x0c\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_UNEXPECTED = "Unexpected line found in update hunk: '{}'"
_NO_CONTEXT = "Expected update hunk to start with a @@ context marker, got: '{}'"
_NO_LINES = "Update hunk does not contain any lines"
_HEREDOCS = ("<<EOF", "<<'EOF'", '<<"EOF"')


@dataclass
class _Reader:
    """`mode` is the kind of the file that is open, or what stands before and behind all of them."""

    mode: str = "begun"
    hunks: list[dict[str, Any]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """the line of each hunk, and the last line that was read"""

    def line(self, number: int, line: str) -> None:
        """Read one more line. Raises `Unreadable`."""
        bare = line.strip(SPACE)
        header = line.rstrip(SPACE) if self.mode == "update" else bare
        if self.mode == "ended":
            if bare not in ("", END):
                raise Unreadable(f"The last line of the patch must be '{END}'", number)
            return
        kind = next((kind for prefix, kind in HEADERS.items() if header.startswith(prefix)), None)
        if kind or header == END:
            self.close(number, line)
            self.mode = kind or "ended"
            self.places.append(number)
            if kind:
                self.hunks.append({"type": kind, "path": header.partition(": ")[2]} | _FIELDS[kind]())
        elif self.mode == "begun" and number == 2 and bare.startswith(ENVIRONMENT):
            if bare == ENVIRONMENT:
                raise Unreadable("apply_patch environment_id cannot be empty", number)
        elif self.mode == "add" and line.startswith("+"):
            self.hunks[-1]["content"] += f"{line[1:]}\n"
        elif self.mode == "update":
            self.change(number, line)
        else:
            raise Unreadable(f"'{bare}' is not a valid hunk header", number)

    def close(self, number: int, line: str) -> None:
        """What is open ends before a header, or the patch's end."""
        if self.mode == "update":
            chunks = self.hunks[-1]["chunks"]
            if not chunks:
                path = self.hunks[-1]["path"]
                raise Unreadable(f"Update file hunk for path '{path}' is empty", self.places[-1])
            if _is_empty(chunks[-1]):
                raise Unreadable(_NO_LINES if line.strip(SPACE) == END else _UNEXPECTED.format(line), number)

    def change(self, number: int, line: str) -> None:
        """A line of an update."""
        hunk = self.hunks[-1]
        chunks: list[dict[str, Any]] = hunk["chunks"]
        last = chunks[-1] if chunks else None
        is_empty = last is not None and _is_empty(last)
        if line.startswith(MOVE) and not last and "move_to" not in hunk:
            hunk["move_to"] = line.removeprefix(MOVE)
        elif line == "@@" or line.startswith("@@ "):
            if is_empty:
                raise Unreadable(_UNEXPECTED.format(line), number)
            chunks.append(_chunk(line[3:] or None))
        elif line == "*** End of File":
            if is_empty:
                raise Unreadable(_NO_LINES, number)
            if last:
                last["end_of_file"] = True
        elif last and last["end_of_file"]:
            if line.strip(SPACE):
                raise Unreadable(_NO_CONTEXT.format(line), number)
        elif line[:1] in ("", " ", "+", "-"):
            if not last:
                chunks.append(_chunk(None))
            for sign, lines in (("-", "old"), ("+", "new")):
                if line[:1] in ("", " ", sign):
                    chunks[-1][lines].append(line[1:])
        else:
            raise Unreadable(_UNEXPECTED.format(line) if is_empty or not last else _NO_CONTEXT.format(line), number)


_FIELDS: dict[str, Any] = {"add": lambda: {"content": ""}, "delete": dict, "update": lambda: {"chunks": []}}


def _chunk(context: str | None) -> dict[str, Any]:
    return {"context": context, "old": [], "new": [], "end_of_file": False}


def _is_empty(chunk: dict[str, Any]) -> bool:
    return not (chunk["old"] or chunk["new"])


@described("codex-apply-patch", AGENTS, original="Rust", roots="all")
def plugin(tracer: Tracer) -> None:
    """Codex' apply_patch: *** Begin Patch, headers of files with lines under them, *** End Patch; each file a value.

    Reads the input of a call of apply_patch. 1. The first and the last line are *** Begin Patch and *** End Patch,
    which may stand in <<'EOF' … EOF; text round them is an error. 2. *** Add File:, *** Delete File: and *** Update
    File: begin a file, white space round them does not matter but in an update. 3. An added file has lines that begin
    with +. 4. An update has chunks, each with @@ before it, but for the first; their lines begin with a space, + or -,
    and an empty line is one of the file. *** Move to: may follow the header, *** End of File a chunk. 5. Anything else,
    and an update or a chunk without lines, refuses the whole patch. Whether the lines stand in the files is not known.

    Source: @openai/codex 0.171.0 (npm), the program that it calls apply_patch; codex-rs/apply-patch.
    """
    raw = tracer.raw
    lines, begins = _lines(raw)
    reader, number = _Reader(), 1
    try:
        for at, word, which in ((0, BEGIN, "first"), (-1, END, "last")):
            if len(lines) < 2 - (at == 0) or lines[at].strip(SPACE) != word:
                raise Unreadable(f"The {which} line of the patch must be '{word}'", max(1, len(lines)) if at else 1)
        for number, line in enumerate(lines[1:], 2):
            reader.line(number, line)
    except Unreadable as error:
        reason, number = error.args
        place = Span(begins[number - 1], len(raw)) if number <= len(lines) else whole(raw)
        offers = BEGIN in raw
        (tracer.fail if offers else tracer.reject)("blocks", place, f"invalid patch, line {number}: {reason}")
        return
    for hunk, first, after in zip(reader.hunks, reader.places, reader.places[1:], strict=False):
        span = Span(begins[first - 1], begins[after - 1])
        tracer.choose(derived(tracer, span, hunk, f"{hunk['type']}s a file"))
    if not reader.hunks:
        tracer.reject("blocks", whole(raw), "a patch without files: nothing is changed")


def _lines(raw: str) -> tuple[list[str], list[int]]:
    """The lines of the patch, and where they begin; those of a here document are without its first and last one."""
    start = len(raw) - len(raw.lstrip(SPACE))
    lines = raw.strip(SPACE).split("\n")
    begins = [start, *accumulate((len(line) + 1 for line in lines), initial=start)][1:]
    lines = [line.removesuffix("\r") for line in lines]
    if len(lines) >= 4 and lines[0] in _HEREDOCS and lines[-1].endswith("EOF"):
        return lines[1:-1], begins[1:]
    return lines, begins
