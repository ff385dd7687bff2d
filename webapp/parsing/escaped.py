"""JSON inside an escaped string: one layer of backslashes is taken off, edits are put back in raw places."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from webapp.parsing.edit import Edit
from webapp.parsing.patch import Patch
from webapp.parsing.patterns import later

_token = later(r"[^\\\"]++|\\[\s\S]?|\"")
NAME = "escaped_json"


@dataclass(slots=True)
class Layer:
    """`text` is `raw[start:end]` with one layer of escapes removed by `patches`."""

    start: int
    end: int
    text: str = ""
    patches: list[Patch] = field(default_factory=list)
    raw_at: list[int] = field(default_factory=list)
    text_at: list[int] = field(default_factory=list)

    def raw_start(self, at: int) -> int:
        """Where the character at offset `at` of `text` stands in the raw text."""
        piece = bisect_right(self.text_at, at) - 1
        return self.raw_at[piece] + at - self.text_at[piece]

    def raw_end(self, at: int) -> int:
        """The raw offset right after the character before offset `at` of `text`."""
        return self.raw_start(at - 1) + 1 if at > 0 else self.start

    def compose(self, edits: list[Edit]) -> list[Patch]:
        """The patches that take the layer off and then make `edits`, which count in `text`, all in raw places."""
        made: list[Patch] = []
        for edit in edits:
            start = (
                self.raw_end(edit.span.start) if edit.span.start == edit.span.end else self.raw_start(edit.span.start)
            )
            made.append(Patch(start, max(start, self.raw_end(edit.span.end)), edit.new, edit.repair))
        starts = [patch.start for patch in made]
        kept = [patch for patch in self.patches if not _covered(patch, made, starts)]
        return kept + made


def joined(raw: str, patches: list[Patch]) -> list[Patch]:
    """Join a backslash taken from before another with the next patch: alone it could be left out, and must not be."""
    done: list[Patch] = []
    for patch in reversed(patches):
        after = done[-1] if done else None
        if after and patch.repair == NAME == after.repair and raw.startswith("\\", patch.end) and not patch.new:
            done[-1] = Patch(patch.start, after.end, raw[patch.end : after.start] + after.new, NAME)
        else:
            done.append(patch)
    return done[::-1]


def _covered(patch: Patch, made: list[Patch], starts: list[int]) -> bool:
    """Whether another patch replaces what `patch` removes."""
    index = bisect_left(starts, patch.end) - 1
    return any(other.start <= patch.start < other.end for other in made[max(0, index - 1) : index + 1])


def peel(raw: str, start: int, limit: int) -> Layer:
    """Take one layer of escapes off `raw[start:limit]`, up to the quote that ends the string it stands in."""
    layer = Layer(start, limit)
    pieces: list[str] = []
    size, inside, after_slash = 0, False, False
    for match in _token.finditer(raw, start, limit):
        piece = match[0]
        if piece == '"' and not after_slash:
            layer.end = match.start()
            break
        keep_from = match.start()
        if piece[0] == "\\":
            keep_from, inside = _peeled(layer, match, inside, after_slash)
        after_slash = piece == "\\\\" and not after_slash
        kept = raw[keep_from : match.end()]
        layer.raw_at.append(keep_from)
        layer.text_at.append(size)
        pieces.append(kept)
        size += len(kept)
    layer.text = "".join(pieces)
    return layer


def _peeled(layer: Layer, match: re.Match[str], inside: bool, after_slash: bool) -> tuple[int, bool]:
    """Patch one escape; where its kept part begins, and whether what follows is inside a string."""
    start, end = match.span()
    following = match[0][1:]
    if following in ('"', "\\", "/", ""):
        layer.patches.append(Patch(start, start + 1, "", NAME))
        quote = following == '"' and not after_slash
        return start + 1, inside != quote
    if following in "nrt" and not inside:
        layer.patches.append(Patch(start, end, "", NAME))
        return end, inside
    return start, inside
