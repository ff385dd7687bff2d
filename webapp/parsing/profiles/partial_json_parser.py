"""partial-json-parser (Python): what is open where the text ends is closed, and json.loads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webapp.parsing.decode import nesting
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._jiter import CutShort, Walk
from webapp.parsing.profiles._steps import choose_if_ok, whole

DEEPEST = 300  # levels; the library reads as far as Python's stack goes
_MARK, _MARKS = re.compile(r'["\[\]{}]'), ',"[]{}'
_WORDS = ("null", "true", "false", "Infinity", "-Infinity", "NaN")
_SIGNS = ".-+eE"
_NUMBER = re.compile(r"(?!-I)[-0-9][0-9.\-+eE]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+', re.DOTALL)
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(\\(?:u.{0,3}|U.{0,7}|x.?)?)\Z", re.DOTALL)
_BLANK = re.compile(r"\s*+")


@dataclass
class _Walk(Walk):
    """As the library completes a text without white space at its end; `last_mark` is where its last one stands."""

    deepest: int = DEEPEST
    last_mark: int = -1

    def document(self) -> None:
        """Of a text that begins as a string, a number or a word, what stands behind that is dropped."""
        if self.last_mark < 0:
            self.char()
            self.kept(self.value_end(), "")
        super().document()

    def char(self) -> str:
        self.at = _BLANK.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches
        last = len(self.raw) - 1
        if self.at > last or (self.at == last and self.raw[last] == "," and self.is_first()):
            raise CutShort
        return self.raw[self.at]

    def key(self, char: str) -> str:
        if char == '"' and not self.raw.startswith('"', self.string_end()):
            self.sound = self.at if self.is_first() else self.sound
            raise CutShort
        return super().key(char)

    def is_first(self) -> bool:
        """Whether a list or an object has been opened, and nothing of it is read."""
        return self.raw[max(0, self.sound - 1) : self.at].strip() in ("[", "{")

    def unexpected(self, char: str) -> None:
        """A string that the end cuts off goes where it stands right behind another in an object."""
        cut = char == '"' and not self.raw.startswith('"', self.string_end())
        raise CutShort(
            "" if cut and self.closers[-1] == "}" and self.raw[self.sound - 1] == '"' else "expected a comma"
        )

    def string_end(self) -> int:
        """Where the quote should stand that closes the string which begins here."""
        return _STRING.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches

    def value_end(self) -> int:
        return self.token()

    def token(self) -> int:
        rest = self.raw[self.at : self.at + 10]
        if rest[0] == '"':
            end = self.string_end()
            if self.raw.startswith('"', end):
                return end + 1
            cut = _CUT_ESCAPE.search(self.raw, max(self.at, end - 9), end)
            self.kept(cut.start(1) if cut else end, '"')
        for word in _WORDS:
            if rest.startswith(word):
                return self.at + len(word)
            if word.startswith(rest) and rest != "-":
                self.kept(self.at, word)
        return self.number_end()

    def number_end(self) -> int:
        """The last number, behind which nothing but words may stand, loses signs at its end, and these words."""
        match = _NUMBER.match(self.raw, self.at)
        if not match:
            raise CutShort("unexpected character")
        end, sound = match.end(), self.at + len(match[0].rstrip(_SIGNS))
        if sound == self.at:
            raise CutShort("" if end == len(self.raw) else "a number without digits")
        if end > self.last_mark and (sound < end or end == len(self.raw)):
            self.kept(sound, "")
        return end


@described("partial-json-parser", LIBRARIES, revision=2)
def plugin(tracer: Tracer) -> None:
    """partial-json-parser (Python): what is open where the text ends is closed, and json.loads.

    1. A string at the cut end is closed, an escape in it that is cut off goes; a number loses a sign, dot or e at its
    end; true, false, null, NaN and Infinity are completed. 2. A key without a value and a comma at the end go, lists
    and objects are closed. 3. json.loads. Text before the JSON is an error; behind it too, but for strings and plain
    values.

    Source: partial-json-parser 0.2.1.1.post7, partial_json_parser/core/myelin.py, fix_fast with Allow.ALL. Nested more
    than 300 deep is not read.
    """
    raw, everything = tracer.raw, whole(tracer.raw)
    if nesting(raw)[0] > DEEPEST:
        tracer.exhausted = True
        tracer.fail("completed", everything, f"stopped: nested more than {DEEPEST} deep")
        return
    first = _MARK.search(raw)
    if first and first[0] != '"':
        walk = _Walk(raw.rstrip(), last_mark=max(map(raw.rfind, _MARKS)))
    else:
        walk = _Walk(raw.strip())  # where what is kept of it ends, the library cuts the text that is not stripped
    edits = [] if (problem := walk.problem()) or problem is None else walk.completion(raw)
    if problem and "EOF" in problem:
        tracer.fail("completed", everything, "nothing of it can be completed")
        return
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("completed", everything, edits)) and any(walk.closers)
