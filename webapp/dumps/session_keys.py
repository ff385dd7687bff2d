"""Which key of a log's entries names their session: the keys that there are, what each would give, and the choice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.records import Entry, Problem
from webapp.dumps.values import id_text

NAMES = ("conversation_id", "session_id", "thread_id", "chat_id", "user.session", "trace_id", "run_id", "source_file")
"""What a session's key is called, the likeliest first; in any spelling (`conversationId`, `x-session-id`)."""
NO_KEY = "-"
"""What is told for all entries to be one session."""
OPTION = "session_key"
"""The only field of a mapping that leaves the reading to the format and names the key of its sessions."""
MOST_KEYS = 12
"""How many keys of one log are looked at."""
MOST_MEMBERS = 20
"""How many members of an archive are shown with their keys."""
_HOLDERS = {
    *("metadata", "meta", "attributes", "extra", "context", "tags", "properties", "labels", "info", "params", "log"),
    *("body", "request_body", "response_body", "headers", "request_headers", "requestHeaders", "kwargs", "fields"),
    *("litellm_params", "litellm_metadata", "requester_metadata", "extra_body", "custom", "baggage", "data"),
    *("client_metadata", "gen_ai", "span", "event", "conversation", "session", "thread", "chat", "user", "trace"),
    *("run", "request", "response"),
}
"""The members of an entry in which loggers put such keys."""
_DEEPEST = 4
_MOST_TEXT = 1024 * 1024
"""characters of a body, written as a text, that is looked into"""
_SPELLINGS = {
    **{name.replace("_", "").replace(".", ""): rank for rank, name in enumerate(NAMES)},
    **dict.fromkeys(("convid", "dialogueid", "dialogid"), 0),
    "usersessionid": 4,
    "chatsessionid": 3,
    **dict.fromkeys(("run", "session"), NAMES.index("run_id")),
}
_PREFIX = re.compile(r"^(?:x|genai|helicone|langfuse|litellm|openai)+(?=conversation|session|thread|chat|user|trace)")
_MENTIONED = re.compile(r'"[^"]{0,40}(?:conv|dialog|session|thread|chat|trace|run)[^"]{0,18}"\s*:', re.IGNORECASE)
_GROUPING = NAMES.index("trace_id")
"""From here on a name is a session's only where it groups: a trace may be a single request."""


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """A key that entries have: how many do, and how many sessions they make."""

    key: str
    entries: int
    sessions: int


@dataclass(frozen=True, slots=True)
class MemberKeys:
    """A member of an archive: the key that is taken for it, its entries and its sessions by that key."""

    name: str
    key: str | None
    entries: int
    sessions: int
    is_sure: bool


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The keys of a log. `key` is the one that is taken: told, or chosen; None where all is one session.

    `sessions` counts the sessions by it, that of the `without` entries that do not have it included. Of an archive
    they are counted over its `files`, each of which has sessions of its own; `key` is None where files differ.
    """

    key: str | None
    told: bool
    entries: int
    sessions: int
    without: int
    choices: list[KeyChoice] = field(default_factory=list)
    files: int = 0
    """how many members of an archive may be read by a key; 0 for what is no archive"""
    members: list[MemberKeys] = field(default_factory=list)
    """at most `MOST_MEMBERS` of them, those to ask about first"""
    cut: bool = False
    """whether only the first members of an archive were looked at"""

    @property
    def differs(self) -> bool:
        """Whether the members of an archive are read by different keys."""
        return not self.told and len({member.key for member in self.members}) > 1

    @property
    def is_sure(self) -> bool:
        """Whether nobody need be asked: it was told, there is one entry, no key, or all give the same number.

        Of an archive: whether that is so for each member.
        """
        if self.files:
            return self.told or all(member.is_sure for member in self.members)
        whole = all(choice.entries == self.entries for choice in self.choices)
        return self.told or self.entries < 2 or (whole and len({choice.sessions for choice in self.choices}) < 2)


def mentions_keys(text: str) -> bool:
    """Whether a text of JSON may hold such a key."""
    return bool(_MENTIONED.search(text))


def found_keys(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys of an entry that may name its session, with what they name, the outermost first."""
    level: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), entry)]
    for _ in range(_DEEPEST):
        below: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        for path, holder in level:
            for key, value in holder.items():
                is_number = key == "run" and isinstance(value, int)  # which of several runs of the same
                if not is_number and _rank((*path[-1:], key)) is not None and (name := id_text(value)):
                    yield ".".join((*path, key)), name
                if key in _HOLDERS and isinstance(inner := _opened(value), dict):
                    below.append(((*path, key), inner))
        level = below


def named_by(entry: dict[str, Any], given_key: str | None) -> Iterator[tuple[str, str]]:
    """As `found_keys`, behind the key that was given."""
    if given_key and (name := session_named(entry, given_key)):
        yield given_key, name
    yield from ((key, name) for key, name in found_keys(entry) if key != given_key)


def session_named(entry: dict[str, Any], key: str) -> str | None:
    """What stands at a key, as `metadata.user.session`: members may have dots in their own names."""
    steps = key.removeprefix("$.").split(".")
    return _named(entry, steps) or None


def _named(holder: Any, steps: Sequence[str]) -> str | None:
    holder = _opened(holder)
    if not isinstance(holder, dict):
        return None
    for count in range(len(steps), 0, -1):
        if (value := holder.get(".".join(steps[:count]))) is None:
            continue
        name = id_text(value) if count == len(steps) else _named(value, steps[count:])
        if name:
            return name
    return None


def _opened(value: Any) -> Any:
    """A body that is written as JSON text, where it may hold a key."""
    if isinstance(value, str) and value[:1] == "{" and len(value) <= _MOST_TEXT and mentions_keys(value):
        return json_or_none(value)
    return value


def rank_of(key: str) -> int:
    """The place of a key's name in `NAMES`; behind them all where it is none."""
    rank = _rank(tuple(key.split(".")[-2:]))
    return len(NAMES) if rank is None else rank


@lru_cache(4096)
def _rank(path: tuple[str, ...]) -> int | None:
    """By the last one or two steps of a path."""
    for count in (1, 2):
        spelling = _PREFIX.sub("", re.sub(r"[^a-z]", "", "".join(path[-count:]).lower()))
        if spelling in _SPELLINGS:
            return _SPELLINGS[spelling]
    return None


def chosen(choices: Sequence[KeyChoice]) -> str | None:
    """The key to take: of those that most entries have, the one by the likeliest name, then the outermost."""
    fitting = [c for c in choices if rank_of(c.key) < _GROUPING or 4 * c.sessions <= 3 * c.entries]
    most = max((choice.entries for choice in fitting), default=0)
    common = [choice for choice in fitting if 2 * choice.entries >= most]
    best = min(common, key=lambda choice: (rank_of(choice.key), choice.key.count("."), -choice.entries), default=None)
    return None if best is None else best.key


def of_members(of_names: Sequence[tuple[str, SessionKeys]], *, cut: bool) -> SessionKeys | None:
    """The keys of an archive by those of its members, each with its name; None where no member has a choice."""
    if not of_names:
        return None
    member_keys = [keys for _, keys in of_names]
    chosen_keys = {keys.key for keys in member_keys}
    is_told = member_keys[0].told
    members = [MemberKeys(name, keys.key, keys.entries, keys.sessions, keys.is_sure) for name, keys in of_names]
    return SessionKeys(
        next(iter(chosen_keys - {None}), None) if is_told or len(chosen_keys) == 1 else None,
        is_told,
        sum(keys.entries for keys in member_keys),
        sum(keys.sessions for keys in member_keys),
        sum(keys.without for keys in member_keys),
        _choices_of(member_keys),
        len(of_names),
        _shown_first(members),
        cut,
    )


def _choices_of(members: Sequence[SessionKeys]) -> list[KeyChoice]:
    """The keys of all members. A member without a key is one session by it, which counts as one."""
    entries, more_sessions = Counter[str](), Counter[str]()
    for choice in (choice for keys in members for choice in keys.choices):
        entries[choice.key] += choice.entries
        more_sessions[choice.key] += choice.sessions - 1
    return [KeyChoice(key, entries[key], len(members) + more_sessions[key]) for key in list(entries)[:MOST_KEYS]]


def _shown_first(members: list[MemberKeys]) -> list[MemberKeys]:
    """Those to ask about, one of each key that is taken, then the others as they come."""
    of_each_key = {member.key: member.name for member in reversed(members)}
    return sorted(members, key=lambda m: (m.is_sure, of_each_key[m.key] != m.name))[:MOST_MEMBERS]


def told_key(mapping: Mapping[str, str] | None) -> str | None:
    """The session key that a mapping names and nothing else."""
    return mapping[OPTION] if mapping is not None and set(mapping) == {OPTION} else None


Follows = Callable[[dict[str, Any]], bool]
"""Whether an entry that names no session belongs to the one before it, as a message does; a request stands alone."""


@dataclass(slots=True)
class _Column:
    """A key over all entries: what it names, and of the entries that stand alone without it the first, and a count."""

    names: set[str] = field(default_factory=set)
    entries: int = 0
    without: int = 0
    first_without: str = ""


@dataclass(slots=True)
class EntryKeys:
    """How many entries there are, and the keys that they have."""

    columns: dict[str, _Column] = field(default_factory=dict)
    entries: int = 0

    def report(self, given_key: str | None) -> SessionKeys:
        choices = [KeyChoice(key, column.entries, len(column.names)) for key, column in self.columns.items()]
        key = (given_key if given_key in self.columns else None) if given_key else chosen(choices)
        column = None if key is None else self.columns[key]
        without = column.without if column else 0
        sessions = len(column.names) + bool(without) if column else 1
        return SessionKeys(key, given_key is not None, self.entries, sessions, without, choices)


def entry_keys(
    entries: Iterable[Entry | Problem],
    names_of: Callable[[dict[str, Any]], Iterable[tuple[str, str]]],
    follows: Follows,
) -> EntryKeys:
    """Look at every entry once, at its keys and what they name."""
    keys, nameless = EntryKeys(), _Column()
    for at, value in (entry for entry in entries if not isinstance(entry, Problem)):
        keys.entries += 1
        names: dict[str, str] = {}
        for key, name in names_of(value):
            names.setdefault(key, name)
        for key, name in names.items():
            if key not in keys.columns and len(keys.columns) < MOST_KEYS:
                keys.columns[key] = deepcopy(nameless)
            if key in keys.columns:
                keys.columns[key].names.add(name)
                keys.columns[key].entries += 1
        if not follows(value):
            for column in (nameless, *(column for key, column in keys.columns.items() if key not in names)):
                column.first_without = column.first_without or at
                column.without += 1
    return keys
