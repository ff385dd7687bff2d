"""An object without its opening brace, as prefilled answers have: keys and values, and a brace that closes them."""

from __future__ import annotations

import re

from webapp.parsing.edit import NotJson
from webapp.parsing.finder import Finder
from webapp.parsing.machine.state import Frame, Machine
from webapp.parsing.machine.tokens import place_of_opener
from webapp.parsing.scan import Strategy


def _take(finder: Finder, match: re.Match[str]) -> int:
    raw, at = finder.tracer.raw, match.start()
    before = raw[max(0, at - 200) : at].rstrip()[-1:]
    if finder.tracer.offered or (before and before in ",{[}]") or (finder.accepted and before == ":"):
        return finder.reject("unopened", at, match.end(), "a key behind a value that ended or failed before it")
    opener = max((start for start in finder.loose.values() if start < at), default=-1)
    if opener >= 0 and not any(closer in raw[opener:at] for closer in "}]"):
        return finder.reject("unopened", at, match.end(), "a key in brackets that are no JSON")
    return _members(finder, at, match.end())


def _members(finder: Finder, start: int, key_end: int) -> int:
    """Try the members that begin at `start` as an object that lacks its brace; where it ends."""
    from_start = start <= finder.whole.start
    if not from_start and finder.tracer.raw.find("}", key_end, finder.end) < 0:
        return finder.reject("unopened", start, key_end, _NO_BRACKET)
    if finder.skips < 0:
        finder.tracer.exhausted = True
        return finder.reject("unopened", start, key_end, "a key that no bracket opens, past the limit of the search")
    start = place_of_opener(finder.tracer.raw, start)
    machine = Machine(finder.tracer.raw, start, finder.end, look=finder.look, tries=finder.tries, final=False)
    machine.frames.append(Frame("{", start - 1, as_kind="{"))
    machine.patch("missing_opener", start, start, "{")
    machine.state = "k"
    try:
        finder.run(machine)
    except NotJson as refused:
        finder.skips -= max(0, refused.at - start)
        return finder.reject("unopened", start, key_end, f"a key that no bracket opens: {refused}")
    closed = finder.tracer.raw[machine.at - 1] == "}" and machine.patches[-1].repair != "missing_closer"
    if not closed and not (from_start and machine.at >= finder.whole.end):
        finder.skips -= machine.at - start
        finder.reject("unopened", start, key_end, _NO_BRACKET)
        return key_end
    return finder.conclude("unopened", start, machine, finder.tier(start), None)


_NO_BRACKET = "a key and a value that no bracket opens or closes"
_KEY = r'"[^"\n\\{}\[\]]{1,80}+"[ \t]{0,20}+:\s{0,20}+(?=["\d\[{tfn-])'
_FIRST = r"\A\s{0,20}'[^'\n\\{}\[\]]{1,80}'[ \t]{0,20}:\s{0,20}(?=['\"\d\[{tfnTFN-])"
"""In single quotes only where the response begins: in prose such a key is a quotation."""
plugin = Strategy("unopened", f"{_KEY}|{_FIRST}", hint=_KEY, order=80, take=_take)
