"""A bounded look at an opening bracket and what stands before it: could JSON begin here, and if not, what is it?"""

from __future__ import annotations

import re

from webapp.parsing.calls import pythonic
from webapp.parsing.machine.repair import opening
from webapp.parsing.machine.tokens import CHECKBOXES, COLON, LITERAL, TYPESET
from webapp.parsing.patterns import holds, later
from webapp.parsing.program_code import WIDTH, code, line_before, shell, styled

_S = r"(?:[\s\u200b-\u200f\u2060\ufeff]|\\[nrt]|(?<=\n)>|<br\ ?/?>){0,200}+"
"""White space, the kind that nobody sees, and the kind that is written as a backslash and a letter."""
_QUOTED = (
    r""""(?:[^"\\\n]|\\.){0,200}+"|'(?:[^'\\\n]|\\.){0,200}+'|`[^`´\n]{0,200}+[`´]|[‘′][^’′\n]{0,200}+[’′]"""
    r"""|[“”„«][^“”»\n]{0,200}+[“”»]{1,2}+|»(?:[^«»\n]|«(?=\w)[^«»\n]{0,80}+»){0,200}+[«»]|[「『][^」』\n]{0,200}+[」』]{1,2}+"""
)
_VALUE = r"""["'“‘`\[{\d+.#-]|true\b|false\b|null\b|True\b|False\b|None\b|NaN\b|undefined\b|[A-Za-z_]"""
_object = later(
    rf"""[{{｛﹛]{_S}(?:
      (?P<empty>\}})
    | (?P<key>(?:{_QUOTED}){_S}[{COLON};=])
    | (?P<mixed>["'`“”]{{1,2}}+[^"'`“”\\\n]{{0,200}}+["'`“”]{{1,2}}+{_S}[:;=]|["'][\w -]{{1,40}}+:[ ]?["'\[{{\d-])
    | (?P<word>[A-Za-z_$][\w$-]*+)["']?+(?P<colon>{_S}:{_S}
        (?P<spec>[<>^=+\ \#.,%!-]{{0,3}}\d*+[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%]?\}})?(?P<value>{_VALUE})?)?
    | (?P<number>-?\d++(?:\.\d++)?+{_S}:)
    | (?P<doubled>\{{{_S}(?:["'“]|[A-Za-z_]\w*+\s*+:|\}}))
    | (?P<note>//|/\*|\#)
    | (?P<dots>\.\.\.|…)
    | (?P<end>\Z)
    | (?P<entity>&(?:quot|apos|nbsp|\#3[49]|\#x2[27]);)
    | (?P<quote>["'“])
    | (?P<comma>,)
    | (?P<inside>[\[{{])
    )""",
    re.VERBOSE,
)
_array = later(
    rf"""[\[［]{_S}(?:
      (?P<empty>(?:\{{\}})?+\])
    | (?P<object>\{{{_S}(?:["'`{TYPESET}”}}/]|\{{\s*+["']|\Z|[A-Za-z_$][\w$-]*+["']?+\s*+:|\d++\s*+:))
    | (?P<string>(?:{_QUOTED}){_S}(?:[,\]]|//|/\*|\#|\Z|\+|["'{{\d]))
    | (?P<pair>(?:{_QUOTED}){_S}:)
    | (?P<number>[-+]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?{_S}(?P<then>[,\]]|[-\d]|\Z))
    | (?P<literal>(?:true|false|null|True|False|None|NaN){_S}[,\]]|(?:tr?u?e?|fa?l?s?e?|nu?l?l?)\Z)
    | (?P<array>\[(?={_S}(?:["'{TYPESET}{{\[\d\]+.-]|{LITERAL}|//|\Z)))
    | (?P<note>//|/\*|\#[ ][^\n\]]*+\n\s{{0,99}}+["{{\[\d])
    | (?P<end>\Z)
    | (?P<quote>["'“])
    | (?P<comma>,)
    | (?P<dots>\.\.\.|…)
    )""",
    re.VERBOSE,
)
_cut_short = later(
    r"""\{\s{0,200}+(?:["'][^"'\n]{0,80}+["']?+\s{0,50}+)?+\Z|\{\s{0,200}+"[^"'\n]{1,80}+"\s{1,9}+["\[{\d]"""
)
_comprehension = later(r"""(?:[^{}\n"']|'[^'\n]{0,60}'){1,120}?\bfor\b[^{}\n"']{1,60}\bin\b""")


def why_not(raw: str, at: int, end: int, *, lenient: bool) -> str | None:
    """Why no JSON begins at the bracket `raw[at]`, in words, or None where it may. Looks at some hundred characters.

    `lenient` where the place says that JSON is meant: a fence, a tag, or the response's very beginning.
    """
    if raw[at - 1 : at].isalpha() and _in_latex.match(raw, at, end) and _latex.search(raw, max(0, at - 20), at):
        return "the braces of a command of LaTeX"
    if raw.find("for", at, at + 125) >= 0 and _comprehension.match(raw, at + 1, end):
        return "a comprehension in Python"
    before = line_before(raw, at)
    if not lenient and pythonic.holds_as_argument(raw, at, before):
        return "an argument of a call in program code"
    low = max(0, at - WIDTH)
    if not lenient and (not low or holds(raw, low, at, "\n`")) and _request.search(raw, low, at):
        return "what a program sends or prints"
    if _shown.match(raw, at, end):
        return "a sentence shows it, broken as it is"
    if (opens := opening()) and opens.match(raw, at, end):
        return code(before, lenient)
    return (_no_object if raw[at] in "{｛﹛" else _no_array)(raw, at, end, before, lenient)


def _no_object(raw: str, at: int, end: int, before: str, lenient: bool) -> str | None:
    look = _object.match(raw, at, end)
    if not lenient and _key_behind.match(raw, at, end):
        lenient = before.rstrip()[-1:] in ("", ":")
    if _template.match(raw, at, end) or raw[max(0, at - 2) : at] == "%}":
        return "a placeholder of a template"
    if not look:
        return "no key follows the brace: a placeholder or program code"
    if look["word"]:
        return _no_word(raw, look, end, before, lenient)
    kind = look.lastgroup
    if kind == "number" and not lenient and _number_format.match(raw, at, end):
        return "a format specification in a template"
    if kind in ("end", "quote") and before.strip()[-1:] in ("", ":") and _cut_short.match(raw, at, end):
        return None
    if kind in ("comma", "inside", "dots", "note", "end", "quote") and not lenient:
        return "no key and colon follow the brace"
    if kind == "empty" and not lenient and not _alone(raw, look.end(), before):
        return "an empty pair of brackets in a sentence"
    if kind == "dots" and _only_dots.match(raw, at):
        return "dots in braces, which stand for what was left out"
    if kind == "key" and look["key"][0] == '"' and _logged.match(before) and not shell.match(before):
        return None
    # `\{"a": 1\}`, as Markdown and LaTeX write a brace
    return code(before.removesuffix("\\") if kind == "key" else before, lenient)


def _no_word(raw: str, look: re.Match[str], end: int, before: str, lenient: bool) -> str | None:
    """A brace and a name: an unquoted key, a placeholder, a format or a piece of program."""
    at, word = look.start(), look["word"]
    if raw[at - 1 : at] not in ("", "{", "[", ",", ":") and styled(raw, at, before):
        return "a rule of a style sheet, which is program code"
    if not lenient and (_struct.search(before, max(0, len(before) - 40)) or _types.match(raw, at, end)):
        return "a literal of a struct, a parameter or a type, which is program code"
    if not look["colon"]:
        is_meant = lenient and (_quote_next.match(raw, look.end("word"), end) or end - look.end("word") < 2)
        return None if is_meant else f"{{{word[:20]}… is a placeholder or program code: no colon follows"
    spec = look["spec"]
    if not lenient and spec is not None and (not look["value"] or spec[-2:-1].isalpha() or spec[0] in "<>^"):
        return "a format specification in a template"
    if not look["value"]:
        return None if lenient else "no value follows the name: a template or program code"
    if not lenient and before.endswith(": ") and _in_yaml.search(raw, max(0, at - WIDTH), at):
        return _YAML
    if not lenient and (look["value"].isalpha() or look["value"] == "_"):
        meant = before.rstrip(" ")[-1:] in ("", ":", "(")
        if not meant or not _bare_value.match(raw, look.end("colon") - 1, end):
            return "words with a colon, not a key with a value"
    return code(before, lenient)


_struct = later(
    r"(?:[.:&\](][A-Z]\w*+ ?|\b[A-Z]\w*[a-z]\w*+|(?:`|\b[A-Z][a-z]+)[A-Z]\w*+ |\b(?:function|async)[ \w]*+\()\Z"
)
_types = later(r"\{\s*+(?:\w++\??: (?:string|number|boolean|any|unknown)(?:\[\])?\s*+[;,]?\s*+){1,20}+\}[ ]?[;}>)|]")
_shown = later(r"""(?<=\w `)[{\[][^`\n]{0,38}(?:[:,]\s?[}\]]|"\s")[^`\n]{0,38}`,? \w""")
"""A short piece in backticks, in a sentence that goes on behind them, that lacks a value or a comma or has one more."""
_request = later(
    r"(?:\A|[\n`])(?:GET|POST|PUT|PATCH|DELETE|HEAD) \S{1,99}(?: HTTP/[\d.]{1,3}(?:\r?\n[\w-]{1,40}: [^\n]*+)*+)?\s*+\Z"
    r"|(?:\A|\n)[ \t]*+>>> [^\n]*+\n[ \t]*+(?:\w++\()?+['\"]?\Z"
)
"""What stands before the body of a request, or before what Python's prompt printed."""
_key_behind = later(r"""\{[^{}]{0,300}?[,\n]\s{0,60}+(["'])[^"'\n{}\[\]]{1,60}+\1\s{0,9}+:""")
"""A brace behind which, whatever follows it, a later member has a key: at a line's start it is meant as an object."""
_logged = later(r"(?!\s*+\w++=\Z)(?:[^(<{=,?&]|\([^()]{0,99}\)|\{[^{}]{0,99}\}|=(?!\Z)|,(?!\s*\w+=\Z))*+(?<=\w)=\Z")
"""A field of a log before its value, which no bracket of a call or an element stands before."""
_only_dots = later(r"\{\s*+(?:\.{3}|…)\s*+\}")
_quote_next = later(r"""\s{0,20}+(?:["'][^"'\n]{0,80}+["']|[“‘][^”’\n]{0,80}+[”’])\s{0,9}+[,}]|["']?\s*+[:=](?![=>])""")
_YAML = "a list or a mapping in YAML"
_in_yaml = later(
    r"(?:\A|\n)(?:(?![A-Z])[ \t]*+(?:- )?[\w.-]++:(?:[ \t][^\n]*+)?\n[ \t]++(?:- )?[\w.-]++"
    r"|---\n(?:[a-z][\w.-]*+:[^\n]*+\n){1,20}+[a-z][\w.-]*+): \Z"
)
_bare_value = later(r"[\w .@/-]{1,80}+(?:\}|,\s{0,50}+(?:[\"']?[A-Za-z_$][\w $-]{0,40}+[\"']?\s{0,10}+:|\}))")


def _no_array(raw: str, at: int, end: int, before: str, lenient: bool) -> str | None:
    if raw.startswith("[[", at) and _is_wiki_link(raw, at, end, lenient):
        return "a link of a wiki in brackets, a field's name in DSPy, or a test in a shell"
    if _subscript(raw, at):
        return "a subscript, not an array"
    look = _array.match(raw, at, end)
    if not look:
        if lenient and _lenient_array.match(raw, at, end) and not _reference.match(raw, at, end):
            return None
        return "no value follows the bracket: a mark or a word in brackets"
    kind = look.lastgroup
    if raw.startswith(CHECKBOXES, at):
        return "a point of a list of things to do"
    is_marked = before.strip() in ("-", "*", "+") or "\\" in look[0]
    if kind == "empty" and not lenient and (not _alone(raw, look.end(), before) or is_marked):
        return "an empty pair of brackets in a sentence"
    is_flat = kind in ("empty", "string", "number", "literal")
    if is_flat and not lenient and before.endswith(": ") and _in_yaml.search(raw, max(0, at - WIDTH), at):
        return _YAML
    is_keyed = kind == "pair" and before.rstrip()[-1:] in ("", ":")
    if kind in ("end", "quote", "comma", "dots", "pair") and not (lenient or is_keyed):
        return "no value follows the bracket"
    is_reference = _reference.match(raw, at, end) if look["number"] or (look["string"] and not lenient) else None
    if is_reference or (look["number"] and not (lenient or _numbers_meant(raw, at, end, before))):
        return "a reference, a time or an interval, not an array"
    if raw.startswith(("](", "] = "), look.end() - 1) or (kind == "empty" and raw.startswith("(", look.end())):
        return "a Markdown link or a subscript"
    return code(before, lenient)


def _is_wiki_link(raw: str, at: int, end: int, lenient: bool) -> bool:
    """Whether two brackets hold a page's name: a year where a word stands before it or behind it."""
    if year := _wiki_year.match(raw, at, end):
        return bool(year["word"]) or (not lenient and raw[max(0, at - 9) : at].rstrip()[-1:].isalpha())
    return _wiki_link.match(raw, at, end) is not None


_lenient_array = later(
    r"\[\s{0,200}+(?:\[|[A-Za-z_$][\w $.-]{0,80}+\s{0,20}+(?:[,\"\n]|\]\s{0,200}+\Z)|https?://|[(+.}-]|\d)"
)
_wiki_link = later(
    r"\[\[(?:[ ](?:-[a-z][ ]|\"?\$|! )[^\[\]\n]{0,200}+\]\]|[ ]?:?[A-Za-z_][^\[\]{}\"'\n,|]{0,200}+\]\]"
    r"|[^\[\]{}\"'\n|]{1,100}+\||[ ]?\#\#[ ]?[\w ]{1,60}+\#\#[ ]?\]\])"
)
_wiki_year = later(r"\[\[\d{1,4}\]\](?P<word>[ ][a-z]{2})?")
_latex = later(r"\\[A-Za-z]{2,16}\Z")
_in_latex = later(r"\{\s{0,50}+\\?[{\[]")
_template = later(
    r"""\{[#/@][a-z]++[^\n{}"]{0,100}+\}|\{\#(?:[^#]|\#(?!\})){0,500}+\#\}|\{\{\s{0,20}+(?:[#/^>!&](?![/*])"""
    r"""|[\w #:.,/-]{0,100}+\||[A-Z]{4,30}+:|(?:"[^"\n]{0,100}+"|'[^'\n]{0,100}+')\s{0,20}+(?:[|~+%]|if\b))"""
)
_number_format = later(r"\{\d*+:[<>^=+#.,%!-]{0,3}+\d*+(?:\.\d++)?[bcdeEfFgGnosxX%]\}|\{\d*+:[<>^=+#,%!-]\d*+\}")
_reference = later(
    r"\[\d{1,4}\][ ]++[A-Z]|\[`[^`\n]{1,80}`\]|\[\d{1,4}(?:[:/-]\d\d|-\d\])"
    r"|\[(?:[^\[\]\n\"]{1,40}|\"[^\",\n]{1,40}\")\][ ]?(?:->|→|×|∪|∩)"
    r"|\[-?[\d.]{1,20},[ ]?-?[\d.]{1,20}\)|\[[A-Z]\w{1,30} \"[^\"\n]{0,200}+\"\][ \t]*+(?:\n|\Z|\d++\.|\[[A-Z])"
)
"""A number with a source behind it, a time, an interval, or a header of a game of chess, in square brackets."""
_lone_number = later(r"\[\s{0,50}+-?[\d.]++\s{0,50}+\]")
_rest_of_line = later(r"[ \t.,;!`*|)}\]]*+(?:\n|\Z|[\[{#]|//|/\*)")


def _alone(raw: str, end: int, before: str) -> bool:
    """Whether brackets that end at `end` have their line to themselves, but for a label before and marks behind."""
    line = before.strip().rstrip("`").rstrip()
    if not line and _code_above.search(raw, max(0, end - WIDTH), end):
        return False
    return (not line or line[-1] in ":>=*-|}](/") and _rest_of_line.match(raw, end) is not None


_code_above = later(r"\w\((?:[^()\n]|\([^()\n]*+\))*+\)[ \t]*+\n\s*+[\[{]\s*+[\]}]\Z")
_numbers = later(r"\[\s*+(-?[\d.eE+]++)(?:\s*+,\s*+-?[\d.eE+]++){0,50}+\s*+(?:,\s*+(?P<other>[\"{])|,|\])")


def _numbers_meant(raw: str, at: int, end: int, before: str) -> bool:
    """A list of numbers in a sentence is data where it has three or more, or a colon or line's start before it."""
    if not before.strip() or before.rstrip()[-1:] in ":=":
        return not _lone_number.match(raw, at, end)
    inner = _numbers.match(raw, at, end)
    return bool(inner and (inner["other"] or inner[0].count(",") >= (1 if before[-1:].isalpha() else 2)))


def _subscript(raw: str, at: int) -> bool:
    """Whether the square bracket at `at` is a subscript: not if it holds objects or lists."""
    last = raw[at - 1 : at] or " "
    if not (last.isalnum() or last in "_)]'\"" or (last == "}" and _index.match(raw, at))):
        return False
    return not (_objects.match(raw, at) or (last > "\x7f" and last.isalpha() and not last.islower()))


_index = later(r"""\[(?:"[^"\n]{1,60}+"|'[^'\n]{1,60}+'|-?\d{1,4}+)\]""")
_objects = later(r"""[\[［]\s{0,50}+(?:\{\s{0,50}+["'}]|\[\s{0,50}+(?:[\[{\d]|""))""")
