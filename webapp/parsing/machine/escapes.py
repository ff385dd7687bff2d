"""Escapes in strings: a backslash that begins none JSON knows, a control character that needs one, half of one."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.parsing.edit import Edit, Span, edit_at, in_order
from webapp.parsing.patterns import later

NAME = "bad_escape"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}

_good = later(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_hex = later(r"\\x([0-9a-fA-F]{2})")
_wide = later(r"\\u\{([0-9a-fA-F]{1,6})\}")
windows_path = later(r"[A-Za-z]:\\[\w. -]|\\\\[\w.-]+\\")
in_path = later(r"(?<![^\W\d_])[A-Za-z]:(?:\\[^\s\".]*)?\Z")
_slash = later(r'\\["\\/]|\\')
_commands = (
    "alpha|beta|bar|begin|bf|binom|big|frac|forall|nu|nabla|neq|ne|not|newline"
    "|bmod|boldsymbol|bot|bigcup|bigcap|bullet|fbox|flat|neg|ni|nolimits|nmid|rangle|rceil|rfloor|root|rVert"
    "|rho|right|rm|rightarrow|text|textbf|textit|textrm|tfrac|tilde|times|theta|tau|tan|tanh|to|top|triangle"
)
_latex_name = later(rf"\\(?:{_commands})(?![A-Za-z])|\\[A-Zac-eg-mo-qsv-z]")
_latex = later(r"\\(?:[a-zA-Z]{2,}|[{}()\[\],;])")
_half = later(
    r"(?<!\\)(?:\\\\)*+(?P<half>\\(?:u[0-9a-fA-F]{0,3})?\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z)"
)
_partial = later(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def backslash(raw: str, at: int, end: int) -> tuple[Edit | None, int]:
    """What to do with the backslash at `at`, and the offset after its escape."""
    good = _good.match(raw, at, end) or _partial.match(raw, at, end)
    if good:
        return None, good.end()
    if match := _hex.match(raw, at, end):
        return edit_at(raw, NAME, at, match.end(), f"\\u00{match[1]}"), match.end()
    if (match := _wide.match(raw, at, end)) and int(match[1], 16) <= 0xFFFF:
        return edit_at(raw, NAME, at, match.end(), f"\\u{int(match[1], 16):04x}"), match.end()
    following = raw[at + 1 : at + 2] if at + 1 < end else ""
    if following == "_":
        return edit_at(raw, NAME, at, at + 1), at + 2
    if following in ("'", "`", "\n") and following:
        width = 2 if following == "\n" else 1
        return edit_at(raw, NAME, at, at + width), at + 2
    return edit_at(raw, NAME, at, at, "\\"), at + 1


def control(raw: str, start: int, end: int) -> Edit:
    """The escapes of the control characters `raw[start:end]` (RFC 8259, section 7)."""
    escaped = "".join([_SHORT.get(char) or f"\\u{ord(char):04x}" for char in raw[start:end]])
    return edit_at(raw, "control_character", start, end, escaped)


controls = later(r"\n[\t-\r\x1c-\x1f]{0,199}+|[\x00-\x09\x0b-\x1f]{1,200}+")
"""Control characters of one edit: white space behind a line break, in which no other line needs a look; or others."""
_special = later(r'(?s)\\(?:.|\Z)|"|[\x00-\x1f]++')


def inside(raw: str, start: int, end: int) -> Iterator[Edit]:
    """The escapes that `raw[start:end]` needs, all of which is of a string's text, as is half an escape at its end."""
    for match in _special.finditer(raw, start, end):
        at = match.start()
        if raw[at] == '"':
            yield edit_at(raw, "unescaped_quote", at, at, "\\")
        elif raw[at] != "\\":
            yield control(raw, at, match.end())
        elif _partial.match(raw, at, end):
            yield edit_at(raw, NAME, at, at, "\\")
        elif patch := backslash(raw, at, end)[0]:
            yield patch


def together(raw: str, start: int, end: int, patches: list[Edit]) -> list[Edit]:
    """The patches of the string `raw[start:end]`, with one for each backslash where it is a Windows path or LaTeX.

    There a backslash that does begin an escape (`\\n` in `C:\\Users\\new`) is meant as a backslash as well.
    """
    if not any(patch.repair == NAME and patch.new == "\\" for patch in patches):
        return patches
    patches = [_doubled(raw, patch) for patch in patches]
    sure = windows_path.match(raw, start, end)
    alone = [match.start() for match in _slash.finditer(raw, start, end) if len(match[0]) == 1]
    spots = [
        at for at in alone if sure or _latex_name.match(raw, at, end) or in_path.search(raw, max(start, at - 200), at)
    ]
    new = {*spots} - {patch.span.start for patch in patches}
    return sorted([*patches, *(edit_at(raw, NAME, at, at, "\\") for at in new)], key=lambda patch: patch.span.start)


def throughout(raw: str, span: Span, edits: list[Edit]) -> list[Edit]:
    """The edits of a value in order, with one for each command of LaTeX that begins as an escape does (`\\text`), in
    strings that needed none, where another string has commands that do not.
    """
    if not any(edit.repair == NAME and edit.new == "\\" and _latex.match(raw, edit.span.start) for edit in edits):
        return edits
    mended = {edit.span.start for edit in edits}
    alone = [match.start() for match in _slash.finditer(raw, *span) if len(match[0]) == 1]
    new = [at for at in alone if at not in mended and _escape_or_name.match(raw, at)]
    return in_order([*edits, *(edit_at(raw, NAME, at, at, "\\") for at in new)])


_escape_or_name = later(rf"(?=\\(?:[tbfr]|nabla|neq))\\(?:{_commands})(?![A-Za-z])")


def _doubled(raw: str, patch: Edit) -> Edit:
    """Among backslashes that are meant, one before an underscore is meant too, and not Markdown's."""
    markdown = patch.repair == NAME and not patch.new and raw.startswith("\\_", patch.span.start)
    return edit_at(raw, NAME, patch.span.start, patch.span.start, "\\") if markdown else patch


def cut_off(raw: str, start: int, end: int) -> tuple[int, int]:
    """The span at the end of `raw[start:end]` that is half an escape: `(its start, its end)`, or `(end, 0)`."""
    match = _half.search(raw, start, end)
    return match.span("half") if match else (end, 0)


def plain_text(raw: str, value: Span, repair: str) -> list[Edit]:
    """The edits that a text of XML or markup needs in JSON's quotes; a backslash in it is only a backslash."""
    edits = []
    for match in _of_plain_text.finditer(raw, *value):
        at, end = match.span()
        new = "\\" if match[0] in '"\\' else control(raw, at, end).new
        edits.append(edit_at(raw, repair, at, end if len(new) > 1 else at, new))
    return edits


_of_plain_text = later(r'["\\]|[\x00-\x1f]++')
