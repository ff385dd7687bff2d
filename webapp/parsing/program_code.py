"""What stands before a bracket on its line, and the piece of program that this shows: code, or a shell command."""

from __future__ import annotations

from webapp.parsing.patterns import later

WIDTH = 160
"""So many characters before the bracket are looked at."""
_HARMLESS = ("", ":", ".", "!", "?", ",", ";", "]", "}", "*", "|", "&", "-")
_assigned = later(
    r"(?:\d++[:|]|[-+>])?+[ \t]*+(?:(?:export|const|let|var|final|local|my|self|val|String|static)\b[ .]?[ \t]*+)*+"
    r"[A-Za-z_$][\w$.]*+(?:\[[^\]]{0,40}\])?(?:[ \t]*+:[ \t]*+[\w\[\], .|]{1,60})?"
    r"[ \t]*+(?::?=|\+=|\|=)[ \t]*+(?:[\w.*\[\]]{1,60}\(?|[A-Z]\w{1,60} |(?<=\s)['\"]{1,3})?\Z"
)
_selector = later(
    r"(?:^|[\s,>+~{};`'\"(*])(?:html|body|blockquote|legend|fieldset|div|span|p|a|[uo]l|li|h[1-6]|table|t[rdh]|thead|tbody|img|input|button|form|nav|header"
    r"|footer|section|main|article|label|select|svg|code|pre|em|strong|small|textarea|fig\w++"
    r"|video|canvas|dialog|details|summary|dl|d[dt]|[bi]|\*|:root|from|to|\d++%"
    r"|[.#:][A-Za-z_][\w-]*+|\[[a-z-]++(?:=[^\]]{1,40}+)?\])(?:[.#:\[][\w\]=-]*+|\([^(){}\n]{0,80}+\))*+\s*\Z"
)
"""What stands before the declarations of a style sheet."""
_second_member = later(r"""[,\n]\s*["']?\w+["']?\s*:""")
_statement = later(
    r"(?:[-+>]|.{0,100}(?:[{;)]|\)(?: ->[^:\n]{1,40})?:))?[ \t]*+"
    r"(?:return|yield|raise|assert|for|if|elif|while|in|case|del)\b[^\"]{0,60}\Z"
)
_expression = later(
    r"(?:(?:\b(?:print|len|str|dict|list|set|loads|dumps|jsonify|format|VALUES ?)"
    r"|[\w)\]](?<!functions)(?<!tools)(?<!tool_use)(?<!api)\.\w+)\(\s*[rbuf]?['\"]{0,3}"
    r"|[\w\]}>!] :?= (?:<\w++>)?|\A\s*+\"[^\"]*+\" = |[)\]\"'] \+ |(?<!or )\belse "
    r"|\S (?:@>|[<>=]{1,2}|DEFAULT|THEN|ELSE|\$\w++|\w++=\w++) '"
    r"|['\"] % |\w not in |\b(?:return|raise|throw|await|yield|new) [\w.]++\(|\b\w++=\{?+|[=!]= ?|=>\s*+\(?|\{\{ |\w!\("
    r"|\]=|\w\[\w*\][\w.]++|\b(?:add_header|return|log_format) [\w-]++ '|\b(?:CMD|ENTRYPOINT) "
    r"|(?:\A|;)\s*+(?:const|let|var|import|export(?: default)?|struct) |\b[fF][\"'][^\"']{0,40}|[$%#@\\])\Z"
)
_operator = later(
    r"(?:\w[^`]{0,60}`[\"']?[\w.-]++(?: \w++)?[\"']?:\s?|\brender json:\s|\bvec!|<%[^%]{0,80}|\|\||&&|\s\?\?|\A\s++[:?]"
    r"|,[ ]?\*\*|\{\{-|\}:|\A\s*+[}\])]++,|\A\s*+return [^\",]{1,60}+,"
    r"|(?:=[^?,]{1,80}|\([^?()]{1,80}|\([^?()]{1,80}(?:&&|[=!]=)[^?()]{1,80}\)) \?"
    r"(?:\s(?:\S{1,60}|[{\[][^{}\[\]]{1,80}[}\]]) :)?)\s?\Z"
)
shell = later(
    r"(?:.{0,60}`)?[ \t$>]*+(?:curl|wget|http|echo|python3?|node|jq|npx|docker|kubectl|aws|gh|printf|export|awk|sed)\b"
    r"(?: \Z|(?:[^'\"]|'[^']*+'|\"[^\"]*+\")*+['\"])|(?:.*[\s`])?--?[A-Za-z][\w-]*+[ =](?:\w+[:=])?+['\"]?\Z"
)


def line_before(raw: str, at: int) -> str:
    """What stands on the line before `at`, the last 160 characters of it."""
    low = max(0, at - WIDTH)
    return raw[max(low, raw.rfind("\n", low, at) + 1) : at]


def code(before: str, lenient: bool) -> str | None:
    """What the text before a bracket says that it is, where that is a piece of program, in words; else None."""
    if before.rstrip()[-1:] in _HARMLESS:
        is_code = not lenient and ("lambda" in before or _operator.search(before, max(0, len(before) - 100)))
        return "an expression in program code" if is_code else None
    if "=" in before and _assigned.match(before):
        return "it is assigned to a name in program code"
    if shell.match(before):
        return "an argument in a shell command"
    is_code = not lenient and (_expression.search(before, max(0, len(before) - 60)) or _statement.match(before))
    return "an expression in program code" if is_code else None


def styled(raw: str, at: int, before: str) -> bool:
    """Whether the brace at `at` holds the declarations of a style sheet: a selector stands before it."""
    inside = raw[at : at + 300].partition("}")[0]
    if ";" not in inside and (":" not in inside or _second_member.search(inside)):
        return False
    return before.rstrip()[-1:] not in ("", ":", "=", "(") and bool(_selector.search(before, max(0, len(before) - 80)))
