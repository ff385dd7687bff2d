"""JSON of no known shape whose keys say what was asked and answered: {"user_msg", "llm_output"}, {"reply"} …"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format
from webapp.dumps.known_tools import answerless
from webapp.dumps.messages.bodies import answer, said_turns
from webapp.dumps.messages.named_texts import NamedText, named_texts
from webapp.dumps.messages.turns import filled, message_turns, with_usage
from webapp.dumps.records import Turn
from webapp.dumps.values import as_object, first_text

_SURE = 5
"""less than of any format that knows what it reads"""
_SENTENCE = 20
_SHOWN = 50
"""items of a list that show whether answers are in it"""
_TIMES = ("timestamp", "ts", "time", "created_at", "created", "date", "started_at", "start_time")


@dataclass(slots=True)
class _Guessed(Conversation):
    keys: Counter[str] = field(default_factory=Counter)
    """those under which answers were found, each named once, and how many"""

    def unfinished(self) -> str | None:
        listed = ", ".join(f"`{key}` ({count:,})" for key, count in self.keys.most_common(5))
        name = "name" if len(self.keys) == 1 else "names"
        return f"no known shape: answers are read by the {name} {listed}; else use --map raw=…" if listed else None


class NamedAnswers(Format):
    shapes = 'any JSON whose keys name what a model answered ("llm_output", "bot_reply", "generated_text")'
    surest = _SURE
    conversation_type = _Guessed
    times = _TIMES
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        """Most of the samples hold an answer, and one of them a sentence."""
        keys = {str(key) for value in head.objects for key in value}
        if head.shape not in ("object", "array", "lines", "parquet") or answerless(keys) is not None:
            return 0
        every = [
            [item for item in named_texts(value, most=_SHOWN) if item.side == "assistant"] for value in head.objects
        ]
        speaking = any(_is_sentence(named.value) for answers in every for named in answers)
        return _SURE if speaking and 2 * sum(map(bool, every)) >= len(every) else 0

    def read_entry(self, entry: dict[str, Any], conversation: _Guessed) -> list[Turn]:
        every = list(named_texts(entry))
        entry_texts = list(_once(_spoken(named_text for named_text in every if named_text.side != "too deep")))
        if deep := [named_text.path for named_text in every if named_text.side == "too deep"]:
            steps = (f"[{step}]" if isinstance(step, int) else f".{str(step)[:40]}" for step in deep[0])
            more = f" and {len(deep) - 1:,} more" if len(deep) > 1 else ""
            conversation.notes.append(f"nested too deeply, not read: ${''.join(steps)}{more}")
        turns = [placed for named_text in entry_texts for placed in named_turns(named_text, conversation)]
        conversation.keys.update(_place(named_text) for named_text in entry_texts if named_text.side == "assistant")
        model = first_text(entry, "model", "model_name", "model_id")
        turns = with_usage(turns, entry.get("usage") or entry)
        return [filled(turn, model=model) if turn.written_by_model else turn for turn in turns]


plugin = NamedAnswers()


def _spoken(entry_texts: Iterable[NamedText]) -> list[NamedText]:
    """Without what a log says of a call in a line, where it says what was asked beside that."""
    every = list(entry_texts)
    lines = [named_text for named_text in every if named_text.path and named_text.path[-1] in ("message", "msg")]
    asked = [named_text for named_text in every if named_text.side == "user" and named_text not in lines]
    return [named_text for named_text in every if not asked or named_text.side != "user" or named_text not in lines]


def _once(entry_texts: Iterable[NamedText]) -> Iterator[NamedText]:
    """Without what stands under another name, too: what was asked, or an answer both as a text and as a message."""
    seen: dict[tuple[str, str], tuple[str, bool]] = {}
    for named_text in entry_texts:
        is_text = isinstance(named_text.value, str)
        said = named_text.value if is_text else as_object(named_text.value).get("content")
        if isinstance(said, str):
            place, was_text = seen.setdefault((named_text.side, said), (_place(named_text), is_text))
            if place != _place(named_text) and (named_text.side != "assistant" or was_text is not is_text):
                continue
        yield named_text


def _is_sentence(value: Any) -> bool:
    return not isinstance(value, str) or (len(value) >= _SENTENCE and " " in value.strip()) or "\n" in value.strip(" ")


def _place(named_text: NamedText) -> str:
    """The path of an answer, whatever its number in a list."""
    return ".".join(str(step) for step in named_text.path if isinstance(step, str))[:80]


def named_turns(named_text: NamedText, conversation: Conversation) -> list[Turn]:
    """What stands under a name: a text, a message, or a provider's body."""
    if isinstance(named_text.value, str):
        return said_turns(named_text.value, conversation, named_text.side)
    if isinstance(named_text.value, dict) and "role" in named_text.value:
        return message_turns(named_text.value, conversation)
    return answer(named_text.value, conversation)
