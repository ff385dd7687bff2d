"""Conversations that branch, as trees of messages: every message before those below it, and its branch's number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.documents import Entry, entry_or_problem
from webapp.dumps.messages.turns import Conversation
from webapp.dumps.records import Problem
from webapp.dumps.values import as_list, as_object, id_text


@dataclass(slots=True)
class BranchedConversation(Conversation):
    """A conversation that remembers which messages were gone on from."""

    branch_of: dict[str, int | None] = field(default_factory=dict)
    continued: set[str] = field(default_factory=set)
    branch_count: int = 0

    def branch(self, ident: str | None, parent: str | None) -> int | None:
        """The number of the branch on which a message stands: None on the first, else from 1 as they come."""
        number = self.branch_of.get(parent or "")
        if parent and parent in self.continued:
            self.branch_count += 1
            number = self.branch_count
        if parent:
            self.continued.add(parent)
        if ident:
            self.branch_of[ident] = number
        return number


def tree_entries(
    at: str, nodes: dict[str, Any], called: str, parent_key: str, children_key: str
) -> Iterator[Entry | Problem]:
    """The messages of a tree as entries, depth first, and what is wrong with it; `called` is the tree's own key."""
    yield from _missing_children(at, nodes, children_key)
    for ident, node in _depth_first(nodes, parent_key, children_key):
        yield entry_or_problem(f"{at}, {called}[{ident!r}]", node)


def _depth_first(nodes: dict[str, Any], parent_key: str, children_key: str) -> Iterator[tuple[str, Any]]:
    """The nodes of a tree by their ids, each before those below it, in the order of the children that it names."""
    below: dict[str | None, list[str]] = {}
    for ident, node in nodes.items():
        parent = id_text(as_object(node).get(parent_key))
        below.setdefault(parent if parent in nodes else None, []).append(ident)
    waiting, passed = list(reversed(below.get(None, []))), set[str]()
    while waiting:
        ident = waiting.pop()
        if ident in passed:
            continue
        passed.add(ident)
        node = nodes[ident]
        yield ident, node
        children = [name for child in as_list(as_object(node).get(children_key)) if (name := id_text(child)) in nodes]
        waiting.extend(reversed(list(dict.fromkeys([*(str(name) for name in children), *below.get(ident, [])]))))
    yield from ((ident, node) for ident, node in nodes.items() if ident not in passed)


def _missing_children(at: str, nodes: dict[str, Any], children_key: str) -> Iterator[Problem]:
    """What to say of messages that others name as those below them, and that are not there."""
    child_ids = (id_text(child) for node in nodes.values() for child in as_list(as_object(node).get(children_key)))
    missing = list(dict.fromkeys(name for name in child_ids if name is not None and name not in nodes))
    if missing:
        count = f"{len(missing):,} messages are" if len(missing) > 1 else "a message is"
        yield Problem(at, f"{count} not there that others name as what follows them ({missing[0][:80]!r})")
