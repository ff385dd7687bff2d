"""What stands before a bracket on its line: program code, a shell command, a subscript, or none of these."""

from __future__ import annotations

from webapp.parsing.patterns import later

WIDTH = 160
"""So many characters before the bracket are looked at."""
_HARMLESS = ("", ":", ".", "!", "?", ",", ";", "]", "}", "*", "|", "-")
_assigned = later(
    r"(?:\d++[:|]|[-+>](?=\s))?+[ \t]*+(?:(?:export|const|let|var|final|local|my|self)\b[ .]?[ \t]*+)*+"
    r"[A-Za-z_$][\w$.]*+(?:\[[^\]]{0,40}\])?(?:[ \t]*+:[ \t]*+[\w\[\], .|]{1,60})?"
    r"[ \t]*+(?::?=|\+=|\|=)[ \t]*+(?:[\w.*\[\]]{1,60}\(?)?\Z"
)
_assigned_in_prose = later(r"[\s`][A-Za-z_][\w.]{0,40}(?:\[[^\]]{0,40}\])? :?= \Z")
_selector = later(
    r"(?:^|[\s,>+~{};`'\"(])(?:html|body|div|span|p|a|[uo]l|li|h[1-6]|table|t[rdh]|thead|tbody|img|input|button|form|nav|header"
    r"|footer|section|main|article|label|select|svg|code|pre|em|strong|details|summary|dl|d[dt]|[bi]|\*|:root|from|to|\d++%"
    r"|[.#:][A-Za-z_][\w-]*+)(?:[.#:\[][\w\]=-]*+|\([^(){}\n]{0,80}+\))*+\s*\Z"
)
"""What stands before the declarations of a style sheet."""
_second_member = later(r"""[,\n]\s*["']?\w+["']?\s*:""")
_statement = later(
    r"(?:.{0,100}[{;)])?[ \t]*+(?:return|yield|raise|assert|for|if|elif|while|in|case|del)\b[^\"]{0,60}\Z"
)
_expression = later(
    r"(?:\b(?:print|len|str|dict|list|set|json\.loads|json\.dumps|JSON\.parse|JSON\.stringify|console\.log|loads|dumps"
    r"|jsonify|update|append|format)\(\s*[rbuf]?['\"]{0,3}"
    r"|[(,] ?\*\*|['\"] % |\w not in |\b\w++=|=>\s*+\(?|\b[fF][\"'][^\"']{0,40}|[$%#@\\])\Z"
)
_expression_sign = later(r"[(=fF$%#@\\](?<![fF](?![\"']))|\*\* ?\Z|n \Z")
"""No text without one of these characters, or an f before a quote, ends in such an expression: far cheaper to find."""
_shell = later(
    r"(?:.{0,60}`)?[ \t$>]*+(?:curl|wget|http|echo|python3?|node|jq|npx|docker|kubectl|aws|gh|printf|export|awk|sed)\b"
)
_chained = later(r"\)\.\w+\(\Z")
_call_line = later(r"\s*+\w++\(\Z")


def line_before(raw: str, at: int) -> str:
    """What stands on the line before `at`, the last 160 characters of it."""
    low = max(0, at - WIDTH)
    return raw[max(low, raw.rfind("\n", low, at) + 1) : at]


def code(before: str, lenient: bool) -> str | None:
    """What the text before a bracket says that it is, where that is a piece of program, in words; else None."""
    if before.rstrip()[-1:] in _HARMLESS:
        return "an expression in program code" if "lambda" in before and not lenient else None
    if "=" in before and _assigned.match(before):
        return "it is assigned to a name in program code"
    if _shell.match(before):
        return "an argument in a shell command"
    if lenient:
        return None
    if _assigned_in_prose.search(before, max(0, len(before) - 50)):
        return "it is assigned to a name of program code in a sentence"
    if _chained.search(before, max(0, len(before) - 40)):
        return "an argument of a method call in program code"
    near = max(0, len(before) - 60)
    is_expression = _expression_sign.search(before, near) and _expression.search(before, near)
    if is_expression or _statement.match(before):
        return "an expression in program code"
    return None


def styled(raw: str, at: int) -> bool:
    """Whether the brace at `at` holds the declarations of a style sheet: a selector stands before it."""
    before = line_before(raw, at)
    if before.rstrip()[-1:] in ("", ":", "=", "(") or not _selector.search(before, max(0, len(before) - 80)):
        return False
    inside = raw[at : at + 300].partition("}")[0]
    return ";" in inside or not _second_member.search(inside)


def subscript(raw: str, at: int) -> bool:
    """Whether the square bracket at `at` is a subscript: not if it holds objects or lists."""
    last = raw[at - 1] if at else ""
    if not (last.isalnum() or (last != "" and last in "_)]'\"")):
        return False
    return not (_objects.match(raw, at) or (last > "\x7f" and last.isalpha() and not last.islower()))


_objects = later(r"""[\[［]\s{0,50}+(?:\{\s{0,50}+["'}]|\[\s{0,50}+[\["{\d])""")


def called(raw: str, at: int) -> bool:
    """Whether the square bracket at `at` is an argument of a call inside a longer line of program."""
    if not at or raw[at - 1] != "(":
        return False
    before = line_before(raw, at)
    return before[-2:-1].isalnum() and not _call_line.match(before)
