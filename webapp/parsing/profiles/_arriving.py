"""How SDKs read arguments as they arrive: jiter's partial mode in Python, tokens in Anthropic's TypeScript."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webapp.parsing.decode import BRACKETS, CLOSERS, Failure
from webapp.parsing.edit import Edit, Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._steps import Step, choose_if_ok, completed, whole

DEEPEST = 200  # levels that hold something; an empty one may stand in the last
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_HIGH, _LOW, _OTHER = "[dD][89abAB][0-9a-fA-F]{2}", "[dD][c-fC-F][0-9a-fA-F]{2}", "(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
_BODY = rf'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u{_OTHER}|u{_HIGH}\\u{_LOW}))*+'
_CUT_ESCAPE = rf"(?:\\(?:u(?:[\x00-\x7f]{{0,3}}|{_HIGH}(?:\\(?:u[\x00-\x7f]{{0,3}})?)?)?)?)?"
_NUMBER = r"-?(?:0(?![0-9])|[1-9][0-9]*+)(?:\.[0-9]++|(?!\.))(?:[eE][+-]?[0-9]++|(?![eE]))"
_CUT_NUMBER = r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?)?)?"
_CUT_WORDS = "|".join(word[:end] for word in _WORDS for end in range(1, len(word)))
_TOKEN = re.compile(f'{_BODY}"|{"|".join(_WORDS)}|{_NUMBER}')
_CUT = re.compile(rf"(?:{_BODY}{_CUT_ESCAPE}|{_CUT_NUMBER}|{_CUT_WORDS})\Z")
_CUT_STRING = re.compile(rf"({_BODY}){_CUT_ESCAPE}\Z")
_SPACE = re.compile(r"[ \t\n\r]*+")


class CutShort(Exception):
    """Why reading ends before the value does, in words; none where the text ends."""


@dataclass
class Walk:
    """`sound` is the end of what is kept so far, `closers` what is open there: it reads as jiter does.

    With `strings`, a string at the cut end is kept as far as its last whole character: jiter's "trailing-strings".
    """

    raw: str
    strings: bool = False
    at: int = 0
    sound: int = 0
    closers: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def problem(self) -> str | None:
        """Why the text is refused; empty where it is cut off, None where the value is whole. Linear."""
        try:
            self.raw.encode()
            self.document()
        except UnicodeEncodeError as error:
            self.at = error.start
            return "surrogates not allowed"
        except CutShort as stop:
            return str(stop) or ("" if self.sound or self.closers else "EOF while parsing a value")
        return None

    def document(self) -> None:
        """To the end of the first value. Raises `CutShort`."""
        self.item(fresh=True)
        while self.closers:
            char = self.char()
            if char == ",":
                self.at += 1
                self.item()
                continue
            if char == self.closers[-1]:
                self.at += 1
            else:  # what is open ends here, and what stands behind is ignored
                self.edits.append(Edit("missing_closer", Span(self.at, self.at), "", self.closers[-1]))
            self.closers.pop()
            self.sound = self.at

    def item(self, *, fresh: bool = False) -> None:
        """A value and what it opens with, or its first token; with its key where an object is open."""
        while (char := self.char()) not in self.closers[-1:]:
            if self.closers[-1:] == ["}"]:
                char = self.key(char)
            if len(self.closers) > DEEPEST:
                raise CutShort("recursion limit exceeded")
            self.at = self.sound = self.at + 1 if char in CLOSERS else self.token(cut=self.strings)
            if char not in CLOSERS:
                return
            self.closers.append(CLOSERS[char])
            fresh = True
        if not fresh:
            raise CutShort("trailing comma")

    def key(self, char: str) -> str:
        """The character behind a key and its colon."""
        if char != '"':
            raise CutShort("key must be a string")
        self.at = self.token()
        if self.char() != ":":
            raise CutShort("expected `:`")
        self.at += 1
        return self.char()

    def char(self) -> str:
        """The next character that is no white space."""
        self.at = _SPACE.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches
        if self.at == len(self.raw):
            raise CutShort
        return self.raw[self.at]

    def token(self, *, cut: bool = False) -> int:
        """The end of the string, number or word that begins here; with `cut` the text's end may stand in a string."""
        if match := _TOKEN.match(self.raw, self.at):
            return match.end()
        if cut and (match := _CUT_STRING.match(self.raw, self.at)):
            self.sound = match.end(1)
            self.closers.append('"')
            raise CutShort
        raise CutShort("" if _CUT.match(self.raw, self.at) else "expected value, or invalid number or string")


def by_jiter(*, strings: bool = False) -> Step:
    """The step that decodes what jiter keeps of a text; what stands behind the value is ignored."""

    def step(tracer: Tracer) -> bool:
        walk = Walk(tracer.raw, strings)
        problem, end, edits = walk.problem(), walk.sound, walk.edits
        if problem:
            tracer.fault("whole", whole(tracer.raw), (), Failure("ValueError", problem, walk.at, problem))
            return True
        if problem is not None:
            tracer.truncated = True
            end = len(tracer.raw)
            edits += completed(tracer.raw, walk.sound, "".join(reversed(walk.closers)))
        return choose_if_ok(tracer, tracer.attempt("whole", Span(0, end), edits))

    return step


def by_closers(tracer: Tracer) -> bool:
    """The step that cuts white space and commas off the end, and closes brackets that are open outside of strings."""
    raw = tracer.raw
    stack: list[str] = []
    for match in BRACKETS.finditer(raw):
        if closer := CLOSERS.get(match[0]):
            stack.append(closer)
        elif stack[-1:] == [match[0]]:
            stack.pop()
    if not stack:
        return False
    end = len(raw.rstrip().rstrip(","))
    edit = Edit("missing_closer", Span(end, len(raw)), raw[end:], "".join(reversed(stack)))
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("whole", whole(raw), [edit]))
    return tracer.truncated


def refusal(text: str) -> str:
    """Why jiter refuses a text that `json.loads` reads: lone surrogates or too many levels; empty where it does not."""
    return f"ValueError: {problem}" if (problem := Walk(text).problem()) else ""


_SOME = rf'(?P<s>"(?:[^"\\]|\\.)*+")|(?P<n>{_NUMBER}(?![.0-9eE]|\Z))|(?P<N>(?=[-.0-9])-?+(?:[.0-9]|[eE][+-]?+)*+)'
_WORD = re.compile(rf"[ \t\n\r]*+(?:{_SOME}|(?P<mark>[{{}}\[\]:,])|(?P<w>true|false|null)(?![a-zA-Z]))", re.DOTALL)
_CUT_WORD = re.compile(
    r'[ \t\n\r]*+(?:"(?:[^"\\]|\\.)*+\\?|(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)[ \t\n\r]*)?\Z', re.DOTALL
)
_WAITING = {True: re.compile("(?:[:N]|s(?=[{,]))*,?"), False: re.compile("[:N]*,?")}
"""kinds of tokens from the last one on that more may follow; in an object a key too"""


def by_tokens(tracer: Tracer) -> bool:
    """The step that decodes what whole tokens say, with brackets closed: a text with anything else goes as it is."""
    edits = _until_cut(tracer.raw)
    attempt = tracer.attempt("whole", whole(tracer.raw), edits, finite=True)
    tracer.truncated = attempt.ok and bool(edits)
    return choose_if_ok(tracer, attempt)


def _until_cut(raw: str) -> list[Edit]:
    """What goes at the end, since more of it may come, and the closers; nothing where a token is none of JSON's."""
    ends, kinds, closers = [0], list[str](), list[str]()
    while token := _WORD.match(raw, ends[-1]):
        ends.append(token.end())
        kinds.append(kind := token["mark"] or token.lastgroup or "")
        if kind in CLOSERS:
            closers.append(CLOSERS[kind])
        elif kind in ("}", "]") and (not closers or closers.pop() != kind):
            return []
    if not _CUT_WORD.match(raw, ends[-1]):
        return []
    waiting = _WAITING[closers[-1:] == ["}"]].match("".join(reversed(kinds)))
    end = ends[-1 - len(waiting[0])] if waiting else 0
    return completed(raw, end, "".join(reversed(closers))) if closers or raw[end:].strip(" \t\n\r") else []
