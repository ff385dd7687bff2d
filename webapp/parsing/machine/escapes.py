"""Escapes in strings: a backslash that begins none JSON knows, a control character that needs one, half of one."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.parsing.edit import Edit, Patch, Span, as_patch
from webapp.parsing.patterns import later

NAME = "bad_escape"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}

_good = later(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_hex = later(r"\\x([0-9a-fA-F]{2})")
_wide = later(r"\\u\{([0-9a-fA-F]{1,6})\}")
windows_path = later(r"[A-Za-z]:\\[\w. -]|\\\\[\w.-]+\\")
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


def backslash(raw: str, at: int, end: int) -> tuple[Patch | None, int]:
    """What to do with the backslash at `at`, and the offset after its escape."""
    good = _good.match(raw, at, end) or _partial.match(raw, at, end)
    if good:
        return None, good.end()
    if match := _hex.match(raw, at, end):
        return Patch(at, match.end(), f"\\u00{match[1]}", NAME), match.end()
    if (match := _wide.match(raw, at, end)) and int(match[1], 16) <= 0xFFFF:
        return Patch(at, match.end(), f"\\u{int(match[1], 16):04x}", NAME), match.end()
    following = raw[at + 1 : at + 2] if at + 1 < end else ""
    if following == "_":
        return Patch(at, at + 1, "", NAME), at + 2
    if following in ("'", "`", "\n") and following:
        width = 2 if following == "\n" else 1
        return Patch(at, at + width, "", NAME), at + 2
    return Patch(at, at, "\\", NAME), at + 1


def control(raw: str, at: int) -> Patch:
    """The escape of the control character at `at` (RFC 8259, section 7)."""
    char = raw[at]
    return as_patch((at, at + 1, _SHORT.get(char) or f"\\u{ord(char):04x}", "control_character"))


_special = later(r'(?s)\\(?:.|\Z)|["\x00-\x1f]')


def inside(raw: str, start: int, end: int) -> Iterator[Patch]:
    """The escapes that `raw[start:end]` needs, all of which is of a string's text, as is half an escape at its end."""
    for match in _special.finditer(raw, start, end):
        at = match.start()
        if raw[at] == '"':
            yield Patch(at, at, "\\", "unescaped_quote")
        elif raw[at] != "\\":
            yield control(raw, at)
        elif _partial.match(raw, at, end):
            yield Patch(at, at, "\\", NAME)
        elif patch := backslash(raw, at, end)[0]:
            yield patch


def together(raw: str, start: int, end: int, patches: list[Patch]) -> list[Patch]:
    """The patches of the string `raw[start:end]`, with one for each backslash where it is a Windows path or LaTeX.

    There a backslash that does begin an escape (`\\n` in `C:\\Users\\new`) is meant as a backslash as well.
    """
    if any(patch.repair == NAME and patch.new == "\\" for patch in patches):
        patches = [_doubled(raw, patch) for patch in patches]
    bad = [patch for patch in patches if patch.repair == NAME and patch.new == "\\"]
    if not bad or not (windows_path.search(raw, start, end) or _latex.search(raw, start, end)):
        return patches
    sure = windows_path.match(raw, start, end)
    alone = [match.start() for match in _slash.finditer(raw, start, end) if len(match[0]) == 1]
    spots = [at for at in alone if sure or _latex_name.match(raw, at, end)]
    new = {*spots} - {patch.start for patch in bad}
    return sorted([*patches, *(Patch(at, at, "\\", NAME) for at in new)], key=lambda patch: patch.start)


def _doubled(raw: str, patch: Patch) -> Patch:
    """Among backslashes that are meant, one before an underscore is meant too, and not Markdown's."""
    markdown = patch.repair == NAME and not patch.new and raw.startswith("\\_", patch.start)
    return Patch(patch.start, patch.start, "\\", NAME) if markdown else patch


def cut_off(raw: str, start: int, end: int) -> tuple[int, int]:
    """The span at the end of `raw[start:end]` that is half an escape: `(its start, its end)`, or `(end, 0)`."""
    match = _half.search(raw, start, end)
    return match.span("half") if match else (end, 0)


def plain_text(raw: str, value: Span, repair: str) -> list[Edit]:
    """The edits that a text of XML or markup needs in JSON's quotes; a backslash in it is only a backslash."""
    edits = []
    for match in _of_plain_text.finditer(raw, *value):
        at, char = match.start(), match[0]
        if char in '"\\':
            edits.append(Edit(repair, Span(at, at), "", "\\"))
        else:
            edits.append(Edit(repair, Span(at, at + 1), char, control(raw, at).new))
    return edits


_of_plain_text = later(r'["\\\x00-\x1f]')
