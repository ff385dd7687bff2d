"""Strings that may have swallowed what follows them: quotes that were mended, keys as no object has, bare values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from webapp.parsing.edit import Edit, Span, apply, places
from webapp.parsing.machine.escapes import windows_path
from webapp.parsing.machine.tokens import OPENERS, STRING, TWINS
from webapp.parsing.patterns import later
from webapp.parsing.trace import Attempt, Flag
from webapp.parsing.verdicts import keys

QUOTES = {"unescaped_quote", "missing_quote"}
_BESIDE_QUOTES = QUOTES | {"missing_comma"}
_BESIDE_KEYS = _BESIDE_QUOTES | {"missing_value", "missing_colon", "extra_closer", "bad_escape", "stray_mark"}
"""Repairs that may be beside a key, or in one, that holds more than it should."""
_odd_key = later(r"""\A\s*[,:;]|[,:]\s*[“”„]|[:,]\s*\Z|[:"]\s*[\[{"']|\A\\\w|\A\s[^\n]*\s\Z""")
"""A key that begins or ends as no key does, or holds a colon and the beginning of a value."""
_NEXT = (
    r"""(?:(?:'|\\")?\w[\w -]{0,40}+(?:['`]|\\")?\s{0,9}+:|[“„«]\w"""
    r"""|[^\w\s\\"',]?'[^'"\\]|[^\s\\"',]?\\"\w"""
    r"""|[{\[]{1,9}+\s{0,9}+(?:'|\\"))"""
)
_key_in_string = later(
    r"""(?:,|(?:'|\\")\s{1,9}\w{1,5})(?:\s|\\n){0,60}+(?:'[^'"\\\n]{1,60}+'|\\"[^"\\\n]{1,60}+\\")\s{0,9}+(?::|=>)"""
    rf"""|(?:'|\\")[)}}\]]?\s{{0,9}}+[,.;|:](?:\s|\\n){{0,60}}+(?:[*`_~^.;|:-]{{1,3}}+\s{{0,9}}+)?+{_NEXT}"""
    r"""|'(?:\s|\\n){1,20}+'(?=[^'\s])|\\"(?:\s{1,20}+"(?=\w)|(?:\s|\\n){1,60}+[*`_~|;^-]?[ ]?(?:\\"|“))"""
    r"""|(?<=")[\w -]{1,40}+(?:'|\\")\s{0,9}+:"""
    r"""|[}\]](?:\s|\\n){0,60}+,(?:\s|\\n){0,60}+[{\[]|(?:'|\\")\sif\s[^'"\\]{1,60}+(?<=\selse\s)(?:'|\\")"""
)
_inches = later(r'\\"(?<=\d\\")')
_odd_end = later(r"""(?:\w"|['`,;^*~|]|\\"|':|(?:\d["']|\w\s["']\w[^"'\n]{0,40}["'])\s{0,9}+,\s{0,60}+)\Z""")
"""A mark or another quote at a string's end, or what may stand in it instead: `27", wide"`, `say 'yes', then go'`."""
_scalar_string = later(r"""(?:["']|,\s(?=\D))(?:-?\d[\d.]*+|true|false|null|True|False|None|\[[^"'\n]*+(?<=\]))\Z""")
_scalar_behind = later(r"""\[[^"'\n]*+(?<=\])["']""")
"""A number, literal or array with one quote, which may be the one too many."""
_scalars_behind = later(r"""(?:\[[^"'\n]*+(?<=\])|[^"'\n,:]{1,200}+,[^"'\n]{0,200}+)["']""")
"""As an array's item, several of them too: `[a, b", "c"]`."""
_signed_string = later(
    rf"""(?:[^"]++|"(?:[^"\\'}}\]]++|\\[^"]|[}}\]](?!,|\\n))*+")*+(?:(?P<string>{STRING})(?P<colon>\s*+:)?|\Z)"""
)
"""The next string with a sign that it may have swallowed something: a quote, or a bracket before a comma or a line."""
_in_no_key = later(r"""\\["n]|'\W|[{}\[\]]""")
"""What no key holds but one that swallowed what follows it."""
_closing = later(
    r"""'(?<=[\s:,\[]"')(?=[^\s\d])|'(?<=[^\s,'\\]')[*_~|;^`.-]{0,3}+(?:\s{0,9}+,|\Z)"""
    r"""|\\"(?<=[^\s,"'\\]\\")(?:\s{0,9}+,|[*_~|;^`.-]{1,3}+\Z)"""
)
_single = later(r"'(?:(?<!\w')|(?![^\W_]))")
_key_end = later(r"""["'`]\s{0,9}+:""")
_bare_key = later(r"\W{0,3}\w{0,20}+\s{0,9}+[:.;|]\s")
_alphanumeric = later(r"\w")
_name_of_code = later(r"[a-z]+[_.]\w+|[A-Z_]{3,}+")
"""A bare value in prose that may be a name in program code: `{'user': USER, 'links': raw_links}`."""
_markup = later(r"<(?:\w[\w ./|-]{0,40}+>\Z|(?:parameter|arg_key|arg_value|function|invoke)\b)")
"""A bare value that stands for one (`<string>`), or is the markup of a call, whose arguments are not read."""
_key_behind = later(r'"\s{0,20}+:')


def _slips(word: str) -> Iterator[str]:
    """Patterns of a word cut behind three letters, or with one lost, another, one too many, swapped."""
    yield from (word[1:], *(word[:at] for at in range(3, len(word))))
    for at in range(1, len(word)):
        yield rf"{word[:at]}\w?{word[at + 1 :]}|{word[: at + 1]}.{word[at + 1 :]}"
        yield f"{word[: at - 1]}{word[at]}{word[at - 1]}{word[at + 1 :]}"


_slip = later(
    rf"(?i:{'|'.join(slip for word in ('true', 'false', 'null') for slip in _slips(word))}|(?:true|false|null){{2}})"
)


def flags(raw: str, attempt: Attempt, edits: Sequence[Edit], names: set[str]) -> Iterator[Flag]:
    """Where a string, a key or a bare value may hold more than it should; `edits` are those that are not sure."""
    if names & _BESIDE_KEYS and (odd := list(filter(_odd_key.search, keys(attempt.value, len(raw))))):
        at = max(attempt.span.start, min(raw.find(key, *attempt.span) for key in odd))
        yield Flag("swallowed_keys", Span(at, at + 1))
    if names & QUOTES:
        yield from _quotes(raw, edits, names)
    if "unquoted_value" in names:
        yield from _bare(raw, attempt)
    if _may_have_swallowed(raw, attempt, names):
        text = apply(raw, attempt.span, attempt.edits)
        at = _swallowed(text.translate(TWINS) if "full_width" in names else text)
        if at >= 0:
            place = places(attempt.span, attempt.edits).at(at)
            yield Flag("swallowed_keys", Span(place, place))


_not_escaped = later(r"\\(?:[ ,;:`)“”’]|'(?!\w))")


def is_before_quote(raw: str, edit: Edit) -> bool:
    """Whether a backslash that was taken for text, and is of no path, stands before a quote, or before a lost one."""
    at = edit.span.start
    if _not_escaped.match(raw, at):
        return raw.count('\\"', max(0, at - 300), at) % 2 == 1
    if {edit.old, edit.new} != {"", "\\"} or not raw.startswith('\\"', at):
        return False
    return not edit.new or not windows_path.search(raw, max(0, at - 300, raw.rfind('"', 0, at)), at)


def _bare(raw: str, attempt: Attempt) -> Iterator[Flag]:
    """Values without quotes that hold the end of a key (`1. 'b': 2`), or are almost a literal (`tru`)."""
    places = [edit.span.end for edit in attempt.edits if edit.repair == "unquoted_value"]
    bare = list(zip(places[::2], places[1::2], strict=False))
    are_slips = all(_slip.fullmatch(raw, *place) for place in bare)
    for opening, closing in bare:
        is_item = raw[max(0, opening - 100) : opening].rstrip()[-1:] != ":"
        is_keyed = _key_end.search(raw, opening, closing) or (is_item and _bare_key.match(raw, opening, closing))
        if is_keyed or raw[closing - 1] in "'`\"":
            yield Flag("swallowed_keys", Span(opening, closing))
        elif (
            (attempt.strategy == "balanced" and _name_of_code.fullmatch(raw, opening, closing))
            or _markup.match(raw, opening, closing)
            or not _alphanumeric.search(raw, opening, closing)
        ):
            yield Flag("left_over", Span(opening, closing))
        elif _slip.fullmatch(raw, opening, closing) and (not is_item or are_slips):
            yield Flag("bare_word", Span(opening, closing))


def _may_have_swallowed(raw: str, attempt: Attempt, names: set[str]) -> bool:
    """Whether a quote was mended, and one is left that neither opens nor closes a string: counting costs least."""
    made = [edit[0] for edit in attempt.edits]
    if names & _BESIDE_QUOTES or made.count("smart_quotes") % 2:
        return True
    mended = made.count("single_quotes")
    return mended > 0 and (raw.count("'", *attempt.span) > mended or raw.find('\\"', *attempt.span) >= 0)


def _swallowed(text: str) -> int:
    """Where a string of the mended text holds what looks like a key or another string, and no code; else -1."""
    before_it = -1
    for signed in _signed_string.finditer(text):
        if (string := signed["string"]) is None:
            break
        start, end = signed.span("string")
        quotes = string.count('\\"')
        is_half = (quotes and (quotes - len(_inches.findall(string))) % 2) or ("'" in string and _is_odd(string, "'"))
        is_other = is_half or (quotes and not signed["colon"])
        if is_other and before_it > 0 and text[before_it:start].strip() == ",":
            return start  # two items, each with half of what may be quoted in one: `["f("a", "b")"]`
        before_it = end if is_half else before_it
        if signed["colon"] and _in_no_key.search(text, start + 1, end - 1):
            return start
        found = [*islice(_key_in_string.finditer(text, start + 1, end - 1), 4)]
        if (odd := _closing.search(text, start + 1, end - 1)) and _is_odd(string, odd[0][0]):
            found.append(odd)
        for match in found:
            before = text[start : match.start()]
            if not any(before.count(opener) > before.count(closer) for opener, closer in OPENERS.items()):
                return match.start()
    return -1


def _is_odd(string: str, quote: str) -> bool:
    """Whether one of the quotes in a string has no other, apostrophes left alone."""
    quotes = string.count('\\"') if quote == "\\" else len(_single.findall(string))
    return quotes % 2 == 1


def unsure(raw: str, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits but for quotes escaped in a string in single quotes, where none of them could end it."""
    remaining, at = list[Edit](), 0
    for first in [index for index, edit in enumerate(edits) if edit[0] == "unescaped_quote"]:
        if first < at:
            continue
        remaining += edits[at:first]
        at = first + 1
        while at < len(edits) and edits[at][0] == "unescaped_quote":
            at += 1
        if not (first and _is_sure(raw, edits[first - 1 : at + 1])):
            remaining += edits[first:at]
    return [*remaining, *edits[at:]] if at else edits


def _is_sure(raw: str, edits: Sequence[Edit]) -> bool:
    """Whether the first edit opens a string in single quotes, the last one closes it, and those between are its own."""
    (name, (start, _), *_), last, inner = edits[0], edits[-1], len(edits) - 2
    if name != "single_quotes":
        return False
    if last.repair == "single_quotes":
        return inner % 2 == 0 and raw.count('"', start, last.span.start) == inner
    is_cut = last.repair == "missing_quote" and raw[start] == "'" and not raw[last.span.start :].strip()
    return is_cut and raw.count('"', start) == inner


_INSIDE = ("unescaped_quote", "doubled_quote")
_OTHERS = ("single_quotes", "backticks")
_opens_alone = later(r'"(?:(?<=\w\s")\w|(?<=[^\W\d]")\s\w|(?<!\d")")')


def _quotes(raw: str, edits: Sequence[Edit], names: set[str]) -> Iterator[Flag]:
    """Quotes at which a string may have swallowed a key."""
    both = {"unescaped_quote", "missing_quote"} <= names and "single_quotes" not in names
    singles = 0
    for previous, edit, following in zip((None, *edits), edits, (*edits[1:], None), strict=False):
        at, is_swallowed, before = edit.span.start, False, previous.repair if previous else ""
        if edit.repair == "missing_quote":
            is_cut = raw[at - 1] == ":" and following and following[:2] == ("missing_comma", edit.span)
            is_swallowed = both or bool(is_cut) or _is_odd_end(raw, at, before)
            is_item = raw[max(0, at - 200) : at].rstrip()[-1:] in "[,"
            several = (_scalars_behind if is_item else _scalar_behind).match(raw, at)
            if several or _scalar_string.search(raw, max(0, at - 200), at):
                yield Flag("closed_by_guess", edit.span)
        elif edit.repair == "unescaped_quote":
            is_swallowed = _may_end_a_key(raw, at)
            if not (is_swallowed or _are_pair(raw, previous, edit) or _are_pair(raw, edit, following)):
                before_it = raw[max(0, at - 9) : at].rstrip()[-1:]
                is_swallowed = before_it in (":", "=", '"', "'") or _opens_alone.match(raw, at) is not None
            is_closed = following is not None and following.repair in _OTHERS and following.span == (at + 1, at + 2)
            is_swallowed = (
                is_swallowed or (before == "bad_escape" and raw[at - 2] == "\\") or (is_closed and singles % 2 == 0)
            )
        singles += edit.repair in _OTHERS
        if is_swallowed:
            yield Flag("swallowed_keys", edit.span)
            return


def _are_pair(raw: str, first: Edit | None, second: Edit | None) -> bool:
    """Whether two edits are of quotes in one string: no other quote stands between them."""
    if not (first and second and first.repair in _INSIDE and second.repair in _INSIDE):
        return False
    return raw.find('"', first.span.start + 1, second.span.start) < 0


def _is_odd_end(raw: str, at: int, before: str) -> bool:
    """Whether a string that lacks its closing quote at `at` ends as if that had stood before."""
    if before in ("unquoted_value", "unquoted_key", "unescaped_quote", "doubled_quote"):
        return True
    if _odd_end.search(raw, max(0, at - 99), at) or raw.startswith(("*", "~", "|", "`"), at) or _closes_more(raw, at):
        return True
    return before == "control_character" and not raw[at:].isspace()


def _closes_more(raw: str, at: int) -> bool:
    """Whether the string that lacks its quote at `at` ends with a bracket that nothing in it opens."""
    text = raw[max(0, at - 500) : at].replace('\\"', "").rpartition('"')[2]
    return any(text.endswith(closer) and text.count(closer) > text.count(opener) for opener, closer in OPENERS.items())


def _may_end_a_key(raw: str, at: int) -> bool:
    """Whether a colon follows the quote at `at`, or a comma stands before it."""
    if raw[at - 1] == "," or (raw[at - 1].isspace() and raw[max(0, at - 20) : at].rstrip()[-1:] == ","):
        return True
    return _key_behind.match(raw, at) is not None
