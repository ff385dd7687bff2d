"""What AutoGen prints of a chat in a terminal, as its messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.messages.printed import printed_list

CONSOLE = re.compile(
    r"^(?:-{5,} (?P<type>\w{1,60}) \((?P<source>[^()\n]{1,60})\) -{5,}"
    r"|(?P<name>[\w.-]{1,60}) \(to [\w.-]{1,60}\):)\r?\n",
    re.M,
)
"""how AutoGen prints who speaks"""
_RULE = re.compile(r"^-{80}\r?$", re.M)
_CALL = re.compile(
    r"^\*{5} Suggested (?:tool|function) call(?: \(([^()\n]*)\))?: (\S+) \*{5}\r?\n"
    r"Arguments: ?\r?\n((?:(?!\r?\n\*{5})[\s\S])*+)\r?\n\*{5,}\r?$",
    re.M,
)
_RESULT = re.compile(
    r"\*{5} Response from calling (?:tool|function) \(([^()\n]*)\) \*{5}\r?\n([\s\S]*?)(?:\r?\n\*{5,}|\Z)"
)


def spoken(written: str) -> Iterator[dict[str, Any]]:
    """What AutoGen prints of a chat, as its messages: names and, in the older way, whom they speak to."""
    marks = list(CONSOLE.finditer(written))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = written[mark.end() : following.start() if following else len(written)].strip("\r\n")
        if mark["type"]:
            yield {"type": mark["type"], "source": mark["source"], "content": printed_list(body) or body}
            continue
        if not body and following:  # the name stands again below it, before a tool's result
            continue
        body = _RULE.split(body)[0].strip("\r\n")
        calls = [{"id": call[1], "function": {"name": call[2], "arguments": call[3]}} for call in _CALL.finditer(body)]
        result, is_user = _RESULT.match(body), re.match(r"user|human|admin", mark["name"], re.I)
        if result:
            yield {"role": "tool", "tool_call_id": result[1], "content": result[2]}
        else:
            content = {"name": mark["name"], "content": _CALL.sub("", body).strip("\r\n")}
            yield {"role": "user" if is_user else "assistant", **content, "tool_calls": calls}
