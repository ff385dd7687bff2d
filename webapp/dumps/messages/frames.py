"""What a program writes around what is said in a chat: times, numbers, sessions that begin, what a line is about."""

from __future__ import annotations

import re

from webapp.dumps.values import is_speech

_NUMBER = re.compile(r"\d[\d.,]*")
_MEASURED = r"(?i:[\w ]{0,20}(?:time|latency|took|duration|elapsed))\W{1,4}\d[\d.,]* ?(?:m?s|sec\w*)"
"""how long an answer took, as a program writes it below"""
_FIELD = re.compile(r"^([^\W\d_][\w ]{0,30}): \S[^\n]*\Z", re.M)
"""what it says of an exchange in the line above it"""
_VALUE = re.compile(r"[^\W\d_][\w ]{0,30}: ?(\S.*)")
_BEGUN = r"[-=*]{3,} ?[^\n]{0,60}\d{4}-\d\d-\d\d[^\n]{0,40}[-=*]{3,}(?=\s*\Z)"
"""that a session began, with the time"""
_ENDED = r"(?i:end of (?:the |this )?(?:conversation|chat|session|transcript|dialogue|log))\W{0,9}(?=\s*\Z)"


def framing_of(before: str) -> re.Pattern[str]:
    """What stands around what is said: again the lines before the first speaks, with other numbers or values; times."""
    lines = (_NUMBER.split(line.strip()) for line in before.split("\n"))
    again = "|".join(_NUMBER.pattern.join(map(re.escape, parts)) for parts in lines if len(parts) > 2) or "(?!)"
    again += r"|={3,}[^\n]*={3}" if re.match(r"={3,} .*={3}", before) else ""
    if field := _FIELD.search(before):
        again += rf"|(?:[-=_*]{{3,}}\s+)?{re.escape(field[1])}: [^\n]*(?=\s*\Z)"
    again += f"|{_BEGUN}" + (f"|{_ENDED}" if before else "")
    return re.compile(rf"^(?:{_MEASURED}(?=\s*(?:[-=_*]{{3,}}\s*)?(?:\Z|{again}))|(?:{again})[ \t]*\r?$)", re.M)


def framed(marks: list[re.Match[str]], sides: list[str], before: str, written: str) -> list[re.Match[str]]:
    """Those below the line that stands above the first, where it stands above others, too; each with one answer."""
    if not (field := _FIELD.search(before)):
        return marks
    above = re.compile(rf"^{re.escape(field[1])}: [^\n]*\n(?={re.escape(marks[0][0])})", re.M)
    begins = {match.end() for match in above.finditer(written)}
    kept: list[re.Match[str]] = []
    for mark, side in zip(marks, sides, strict=True):
        if mark.start() in begins or (side != sides[0] and kept and kept[-1].start() in begins):
            kept.append(mark)
    return kept if len(begins) > 1 else marks


def are_fields(written: str) -> bool:
    """Whether all lines are fields of a record, as `User : root` and `Serial : 5`, and none a sentence."""
    lines = [line for line in written.split("\n") if line.strip()]
    values = [match[1] for line in lines if (match := _VALUE.match(line))]
    return 2 < len(lines) == len(values) and not any(map(is_speech, values))
