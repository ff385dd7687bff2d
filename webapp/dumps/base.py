"""What a dump format is: the class that each module under `formats/` derives from.

A format is one file that holds `plugin = …` and is called as the format. It needs three things, as this one, which
reads lines of `{"chat": 7, "who": "assistant", "said": "…", "at": 1754400000}`:

    class Chatty(Format):
        shapes = 'Chatty logs {"chat", "who", "said"} one a line'
        session_field = "chat"
        times = ("at",)

        def sniff(self, head: DumpHead) -> int:
            return 80 if head.all_have("chat", "who", "said") else 0

        def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
            return turns_of(content(entry.get("said")), text(entry.get("who")), conversation)

    plugin = Chatty()

`messages` knows what messages of any provider say (`message_turns`), what HTTP bodies say (`exchange`) and how a
stream is put together (`assembled`). A dump whose entries are neither lines, nor items of a list, nor the document
itself says where they are in `sessions`; `documents` has what walks to them without holding the dump.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from webapp.dumps.documents import grouped, keyed, session_keys
from webapp.dumps.linked_turns import RepeatedIds, Side, SidedTurns, linked
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.metadata import GOOD, hosts_of, says_error, stop_of
from webapp.dumps.messages.turns import Conversation as Conversation
from webapp.dumps.messages.turns import each_filled, event_turns
from webapp.dumps.programs import LOOKED_AT, program_in
from webapp.dumps.records import Entries as Entries
from webapp.dumps.records import Entry as Entry
from webapp.dumps.records import Problem, Record, SessionStart, Stop, Turn, changed, numbered
from webapp.dumps.session_keys import SessionKeys as SessionKeys
from webapp.dumps.sessions import SessionEntries as SessionEntries
from webapp.dumps.sessions import Sessions as Sessions
from webapp.dumps.source import DumpHead as DumpHead
from webapp.dumps.source import Source as Source
from webapp.dumps.unread import UnreadTexts
from webapp.dumps.values import first_moment, id_text, text

Context = Mapping[str, Any]
"""What a session's entries need to know of what stood around them: `SessionStart.extra`."""


NATIVE = "native"
"""the home of programs that take calls from their model's API alone"""


class Format:
    """One dump format. `shapes`, `sniff` and `read_entry` are its own; the rest has a default."""

    shapes: str = ""
    """what a dump of this format looks like, for the message that none was recognised"""
    called: str = ""
    """what it is known by, where its module holds several formats"""
    id_key: str = ""
    """the key of an entry's own id"""
    id_name: str = "id"
    session_field: str | None = "session_id"
    """the key under which an entry names its session; None where it does not"""
    times: tuple[str, ...] = ()
    """the keys under which an entry says when it was written, for turns that do not say it: the first time counts"""
    conversation_type: type[Conversation] = Conversation
    """what is remembered while a session's entries are read; a format that needs more derives its own"""
    home: str | None = None
    """the profile that every program that writes this format parses with, where there is one: `NATIVE` reads no text"""
    surest: int = 100
    """the highest that `sniff` gives: who is surer already leaves it unasked"""
    read_by: str = ""
    """what to say of the names by which answers were found, where nothing else says who wrote them"""
    by_key: bool = False
    """whether a key of its entries names their session, where they have one: `keys` shows which (see `session_keys`)"""
    session_key: str | None = None
    """the key that was told"""

    @property
    def name(self) -> str:
        """What databases, URLs and commands know it by: what its module is called, where nothing else is said."""
        return self.called or type(self).__module__.rpartition(".")[2]

    def sniff(self, head: DumpHead) -> int:
        """How sure it is that this is its own, 0 (not at all) to 100; the highest wins."""
        raise NotImplementedError

    def session_of(self, entry: dict[str, Any]) -> str | None:
        """The session that an entry names; one that names none belongs to the one before it."""
        return None if self.session_field is None else id_text(entry.get(self.session_field))

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        """The sessions of a dump: its lines, its list's items or the document itself, grouped by `session_of` or a key.

        Each session's entries are taken before the next session is asked for. Raises `BadDump` where nothing at all
        can be read.
        """
        if self.by_key:
            return keyed(source, head, self.session_key, self.follows)
        return grouped(source, head, self.session_of)

    def with_key(self, session_key: str | None) -> Format:
        """This, for sessions by the key `session_key`."""
        twin = copy(self)
        twin.session_key = session_key
        return twin

    def follows(self, entry: dict[str, Any]) -> bool:
        """Whether an entry that names no session belongs to the one before it."""
        return False

    def keys(self, source: Source, head: DumpHead, most: int | None = None) -> SessionKeys | None:
        """The keys that may name the sessions of a dump's entries; None where there is no choice.

        `most` is for archives: the bytes of their members that are looked at.
        """
        if not self.by_key or head.shape not in ("lines", "array", "parquet"):
            return None
        return session_keys(source, head, self.session_key, self.follows)

    def conversation(self, context: Context) -> Conversation:
        """What the reading of a session starts with."""
        return self.conversation_type(
            text(context.get("model")), declared_always=declared_in(context), hosts_always=hosts_of(context)
        )

    def read_entry(self, entry: dict[str, Any], conversation: Any) -> list[Turn]:
        """The turns of one entry, each with the place of its text; none for an event.

        What of it cannot be read goes to the conversation's `notes`.

        The same entries always give the same turns, and an entry is not changed.
        """
        raise NotImplementedError

    def about(self, entry: dict[str, Any]) -> dict[str, Any]:
        """When an entry was written, for its turns that do not say it."""
        return {"sent_at": first_moment(entry, *self.times)}

    def side(self, turn: Turn, entry: dict[str, Any], conversation: Any) -> Side | None:
        """What a turn of an entry may be a twin of, where its logger writes things twice."""
        return None

    def checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        """What of an entry must be in a turn: nothing of one that says what others say, too, or may say anything."""
        return entry

    def ids_of(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The ids of an entry by what they are called; one that comes twice is worth a word."""
        return {self.id_name: entry.get(self.id_key)} if self.id_key else {}

    def read(self, source: Source, head: DumpHead) -> Iterator[Record]:
        """The dump's sessions, turns and problems."""
        for session in self.sessions(source, head):
            if isinstance(session, Problem):
                yield session
            else:
                entries = iter(self.arranged(session.entries))
                early = list(islice(entries, LOOKED_AT))
                first = next((entry[1] for entry in early if not isinstance(entry, Problem)), {})
                session = replace(session, **self.says_of_session(first))
                home = session.home or self.home
                extra = session.extra | program_in(early, session.extra)
                yield SessionStart(session.name, self.name, home, session.title, extra, session.service)
                yield from self.turns(chain(early, entries), extra)

    def arranged(self, entries: Iterable[Entry | Problem]) -> Iterable[Entry | Problem]:
        """The entries of a session, with those as one that are pieces of one."""
        return entries

    def says_of_session(self, first: dict[str, Any]) -> dict[str, Any]:
        """What the first entry says of its session, by the fields of `SessionEntries`."""
        return {}

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        """The turns of one session; problems pass through."""
        conversation, unread = self.conversation(context), UnreadTexts()
        yield from linked(self.sided_turns(entries, conversation, unread))
        yield from unread.problems()
        yield from (Problem("the end of the session", words) for words in conversation.at_the_end(self.read_by))

    def sided_turns(
        self, entries: Iterable[Entry | Problem], conversation: Conversation, unread: UnreadTexts
    ) -> SidedTurns:
        """The turns of a session's entries, each with what it may be a twin of; `unread` learns what is in none."""
        ids = RepeatedIds()
        for entry in entries:
            if isinstance(entry, Problem):
                yield entry, None
                continue
            at, value = entry
            for name, ident in self.ids_of(value).items():
                yield from ((problem, None) for problem in ids.again(at, name, ident))
            conversation.declares_beside(declared_in(value))
            turns = told_beside(value, self.read_entry(value, conversation), conversation)
            if not conversation.notes:
                unread.learn(at, self.checked(value), turns)
            for note in conversation.notes:
                yield Problem(at, note), None
            conversation.notes.clear()
            for turn in numbered(conversation.entry, value, turns or event_turns(), self.about(value)):
                yield turn, self.side(turn, value, conversation)
            conversation.entry += 1


_ASKING = ("prompt", "tool_result")


def _capped(turns: list[Turn]) -> list[Turn]:
    """An answer that has exactly as many tokens as it may have was cut, whatever else the log says of it."""
    spent = next((turn for turn in turns if turn.tokens_out and turn.declared), None)
    if spent is None or (spent.declared or {}).get("max_tokens") != spent.tokens_out:
        return turns
    return [
        changed(turn, stop=Stop("length", turn.stop.said))
        if turn.stop is not None and turn.stop.reason in GOOD
        else turn
        for turn in turns
    ]


def told_beside(entry: dict[str, Any], turns: list[Turn], conversation: Conversation) -> list[Turn]:
    """`turns` of an entry with what stands beside them, where no request or body has said it.

    What the entry says is said of its answer alone, behind whatever it repeats of the conversation; what the session
    declares holds for all of it.
    """
    turns = _capped(turns)
    hosts, conversation.hosts = [*conversation.hosts, *hosts_of(entry)], []
    host = min(hosts or conversation.hosts_always, default=(0, None))[1]
    is_error = says_error(entry) if any(turn.kind == "tool_result" for turn in turns) else None
    answers = [turn for turn in turns if turn.written_by_model]
    if not answers and turns and all(turn.role == "thinking" for turn in turns):  # it thought, and that was all
        turns = each_filled(turns, stop=stop_of(entry))
    why = stop_of(entry) if answers and not any(turn.stop for turn in answers) else None
    is_declared = any(turn.declared for turn in turns)
    declared = None if is_declared else conversation.declared_beside
    everywhere = None if is_declared else conversation.declared_always
    if why is None and declared is None and everywhere is None and host is None and is_error is None:
        return turns
    last_question = max((place for place, turn in enumerate(turns) if turn.kind in _ASKING), default=-1)
    for place, turn in enumerate(turns):
        if turn.kind == "tool_result" and turn.is_error is None:
            turn.is_error = is_error
        elif turn.written_by_model:
            turn.declared = turn.declared or (declared if place > last_question else None) or everywhere
            if place > last_question:
                turn.stop, turn.host = turn.stop or why, turn.host or host
    return turns
