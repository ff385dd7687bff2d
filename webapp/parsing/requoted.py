"""JSON in single quotes with Python's literals, read as if both were JSON's, and proved by decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webapp.parsing.edit import Edit, Span, apply, as_edit, as_span, composed, places
from webapp.parsing.machine.tokens import LITERALS, STRING
from webapp.parsing.one_character import Mended, decoded, one_character
from webapp.parsing.patterns import later

_ENDS = r"(?=\s{0,60}+[,:}\]])"
_token = later(
    r"""(?:[^'"\\TFN]++|\\.|"(?:[^"\\\n]++|\\.)*+"|(?!True|False|None)[TFN])*+(?:"""
    rf"""(?<![^\W_])(?<!')(?:(?P<plain>'[^'"\\\n]*+'{_ENDS})|(?P<string>'(?:[^'\\\n]++|\\.)*+'{_ENDS}))"""
    r"""|(?P<quote>(?<![^\W_])'|'(?![^\W_]))|(?P<word>\b(?:True|False|None)(?!_?[^\W_]))|.|\Z)"""
)
"""What is passed over, then a string in single quotes, such a quote by itself that is no apostrophe, or a literal."""
_special = later(r'\\.|"')
_json_literal = later(rf"{STRING}|(?P<literal>\b(?:true|false|null)\b)")
_closes_more = later(r"\s*+[}\]]")


def requoted(raw: str, start: int, end: int) -> Mended | None:
    """The value at `start` of a text in single quotes, where it decodes with double ones, but for one character."""
    span, (edits, alone) = Span(start, end), _edits(raw, start, end)
    twin = apply(raw, span, edits)
    stop, value, failed = decoded(twin)
    slips: tuple[Edit, ...] = ()
    if failed >= 0:
        mended = one_character(twin, 0, len(twin))
        if not mended:
            return None
        stop, value, slips = mended
    if _closes_more.match(twin, stop) or ((slips or alone) and _spoils(twin, stop, edits, slips, start)):
        return None
    last = end - (len(twin) - stop)
    while edits and edits[-1].span.start >= last:  # what stands behind the value
        last += len(edits[-1].new) - len(edits.pop().old)
    return Mended(last, value, tuple(composed(raw, span, edits, slips)))


def _edits(raw: str, start: int, end: int) -> tuple[list[Edit], bool]:
    """JSON's quotes and literals in the places of Python's, and whether a quote stands alone."""
    edits, alone = list[Edit](), False
    for match in _token.finditer(raw, start, end):
        if not (kind := match.lastgroup):
            continue
        at, stop = match.span(kind)
        if kind == "word":
            edits.append(as_edit(("literal", as_span((at, stop)), match[kind], LITERALS[match[kind]])))
            continue
        edits.append(as_edit(("single_quotes", as_span((at, at + 1)), "'", '"')))
        if kind == "quote":
            alone = True
            continue
        if kind == "string":
            edits += _inside(raw, at + 1, stop - 1)
        edits.append(as_edit(("single_quotes", as_span((stop - 1, stop)), "'", '"')))
    return edits, alone


def _inside(raw: str, start: int, end: int) -> Iterator[Edit]:
    """What stands otherwise in JSON's strings: quotes get a backslash, apostrophes lose theirs."""
    for match in _special.finditer(raw, start, end):
        at = match.start()
        if match[0] == '"':
            yield as_edit(("unescaped_quote", as_span((at, at)), "", "\\"))
        elif match[0] == "\\'":
            yield as_edit(("bad_escape", as_span((at, at + 1)), "\\", ""))


def _spoils(twin: str, stop: int, edits: Sequence[Edit], slips: Sequence[Edit], start: int) -> bool:
    """Whether a word that was taken for a literal stands in a string of the mended text."""
    begins = places(Span(start, start), edits).begins
    words = {at for edit, at in zip(edits, begins, strict=True) if edit.repair == "literal" and at < stop}
    if not words:
        return False
    mended, mapped = apply(twin, Span(0, stop), slips), places(Span(0, stop), slips)
    return not words <= {mapped.at(match.start()) for match in _json_literal.finditer(mended) if match["literal"]}
