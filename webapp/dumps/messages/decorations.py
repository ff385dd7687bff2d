"""What terminals and tools write around a chat as text: colours, boxes, times, the front of a note."""

from __future__ import annotations

import re
from collections.abc import Iterator

PANEL = re.compile(r"^[╭┌┏╔][─━═]+ ?([^─━═╮┐┓╗\n]{1,60}+)[─━═]+[╮┐┓╗][ \t]*\r?$", re.M)
_DRAWN = re.compile(r"^(?:[│┃║] ?(.*?)[ \t]*[│┃║]|[╰└┗╚][─━═][^\n]*)[ \t]*(\r?)$", re.M)
"""a box that a terminal drew, with a name in its upper edge, and its other lines"""
_FRONT = re.compile(r"\A---\r?\n(?:[^\n]{0,400}\n){1,60}?---\r?\n")
"""what stands in YAML before a note"""
_FENCE = re.compile(
    r"\s*+(?P<fence>`{3,}|~{3,})[^\n`]{0,40}\n(?P<said>(?:(?!^(?P=fence))[\s\S])*+)^(?P=fence)\s*+", re.M
)
"""a code fence around all of a text"""
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_CLOCK = re.compile(r"^\[\d{4}-\d\d-\d\d[T ][\d:.]{8,20}\][ \t]*\r?$", re.M)
"""when DSPy asked, before each call of its history"""
_REACT = re.compile(r"^(Question|Observation): ?([\s\S]*?)\n(?=Thought:)", re.M)
"""what a ReAct agent is told; all between is what its model wrote"""
_WHOLE = r"(?:(?!^(?:\*\*Tool: |_Thinking:_|---\r?$))[\s\S])"
_THOUGHT = re.compile(rf"^_Thinking:_\r?\n({_WHOLE}*+)(?=^\*\*Tool: )", re.M)
_TOOL = re.compile(
    r"^\*\*Tool: [\w.-]{1,80}\*\*[ \t]*\r?\n"
    rf"(?:\s*+\*\*(?:Input|Output|Error):\*\*\r?\n```{_WHOLE}*?\n```(?=[ \t\r]*$)){{0,2}}",
    re.M,
)
"""what OpenCode's export has of a thought before a call, and of a call; SpecStory has both in tags"""
_ASIDE = re.compile(r"^<(?:(?P<think>think)>\s*<details>|tool-use\b)", re.M)
"""what SpecStory prints of thoughts and calls among what is said"""
_LOGGED = re.compile(r"^# \d{4}-\d\d-\d\dT[\d:]{8} {4}\w+: .{0,200}\s+Model: \*\*.{0,200}$", re.M)
"""what `llm logs` prints above each prompt"""


def undecorated(written: str) -> str:
    """The text without colours, and without what DSPy's history and `llm logs` say before each prompt."""
    if "\x1b[" in written or _CLOCK.match(written.lstrip()):
        written = _CLOCK.sub("", _COLOURS.sub("", written))
    written = _FRONT.sub("", written)
    written = whole["said"] if (whole := _FENCE.fullmatch(written)) else written
    if PANEL.search(written):
        return _DRAWN.sub(r"\1\2", PANEL.sub(r"## \1\n", written))
    if "**Tool: " in written:
        thoughts = _THOUGHT.sub(r"<think><details>\n\1</details></think>\n\n", written)
        return _TOOL.sub(r"<tool-use>\g<0></tool-use>", thoughts)
    if _REACT.match(written.lstrip()):
        return _REACT.sub(r"=== \1 ===\n\2\n\n=== Assistant ===\n", written)
    return _LOGGED.sub("", written) if _LOGGED.match(written) else written


def asides(raw: str) -> Iterator[tuple[int, int]]:
    """Where thoughts and calls stand in what is said; a tag that nothing closes is of what is said."""
    at, unclosed = 0, set[str]()
    while opening := _ASIDE.search(raw, at):
        closing = "</think>" if opening["think"] else "</tool-use>"
        end = -1 if closing in unclosed else raw.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            at = opening.end()
        else:
            at = end + len(closing)
            yield opening.start(), at
