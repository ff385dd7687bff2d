"""Aligns the messages of growing requests by position: what is new of each, on which branch, and what it left out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

ROOT = 0
MOST_OPENINGS = 8
"""How many conversations with one beginning are looked through for the one that a changed system prompt goes on."""
MOST_ENDS = 64
"""How many places are tried at which a shortened history may go on from the request before."""

Same = Callable[[int], bool]
"""Whether the message at a position of a request repeats what the request before was answered."""


@dataclass(slots=True)
class Aligned:
    """What a request adds, as positions among its messages.

    `branch` is None on the first branch, else a number from 1. `answers` are hashes of what was answered where the
    message at `echo_at` stands, which it and those behind it may repeat; `extends` says whether the request goes on
    from an earlier one. `left_out` counts the messages of the request before that this one has no longer.
    """

    new: list[int]
    branch: int | None = None
    answers: list[int] = field(default_factory=list)
    echo_at: int = 0
    extends: bool = False
    left_out: int = 0


@dataclass(slots=True)
class Histories:
    """The messages of all requests of a session as a tree from their starts, one hash each.

    A node is one message behind all those before it. `_ends` are the nodes at which a request ended, with hashes of
    what it was answered.
    """

    _ends: dict[int, list[int]] = field(default_factory=dict)
    _last_end: int | None = None
    _children: dict[int, int] = field(default_factory=dict)
    _count: int = 1
    _gone_on: set[int] = field(default_factory=set)
    _branches: dict[int, int] = field(default_factory=dict)
    _branch_count: int = 0
    _roots: dict[Hashable, int] = field(default_factory=dict)
    _openings: dict[int, list[int]] = field(default_factory=dict)
    _systems: set[int] = field(default_factory=set)
    _previous: list[int] = field(default_factory=list)

    def align(self, systems: Sequence[int], messages: Sequence[int], same: Same) -> Aligned:
        """Take a request in: hashes of its leading system messages, and of the messages behind them."""
        aligned = Aligned([index for index, digest in enumerate(systems) if digest not in self._systems])
        self._systems.update(systems)
        if not messages:
            return aligned
        offset = len(systems)
        node, depth, passed = self._walk(self._root(systems, messages), messages)
        aligned.answers, aligned.echo_at = list(self._ends.get(node, ())), offset + depth
        aligned.extends = passed is not None
        if depth < len(messages):
            begin = end = depth
            if node not in self._ends or node in self._gone_on:
                begin, end = self._rejoined(messages, depth, lambda index: same(offset + index))
            if end > begin:
                aligned.answers, aligned.echo_at = self.answers, offset + end
                aligned.extends, aligned.left_out = True, len(self._previous) - (end - begin) - depth
            is_fork = end == begin and passed is not None and node in self._gone_on
            self._branch_count += is_fork
            aligned.new += [offset + index for index in (*range(depth, begin), *range(end, len(messages)))]
            node = self._grown(node, messages[depth:], self._branch_count if is_fork else None)
        elif node != self._last_end:
            aligned.new.append(offset + depth - 1)
        aligned.branch = self._branches.get(node)
        self._last_end, self._previous = node, list(messages)
        self._ends.setdefault(node, [])
        return aligned

    def answer(self, hashes: Sequence[int]) -> None:
        """Note what the last request was answered."""
        if self._last_end is not None:
            self._ends[self._last_end].extend(hashes)

    @property
    def answers(self) -> list[int]:
        """Hashes of what the last request was answered."""
        return [] if self._last_end is None else list(self._ends[self._last_end])

    def _root(self, systems: Sequence[int], messages: Sequence[int]) -> int:
        """Where these system messages' conversations begin; changed ones go on what was answered under others."""
        key = tuple(systems)
        openings = self._openings.setdefault(messages[0], [])
        if key not in self._roots:
            walks = [(self._walk(root, messages), root) for root in openings]
            depth, root = max(((walk[1], root) for walk, root in walks if walk[2] is not None), default=(0, ROOT))
            self._roots[key] = root if 0 < depth < len(messages) else self._node()
        root = self._roots[key]
        if root not in openings:
            openings.append(root)
            del openings[:-MOST_OPENINGS]
        return root

    def _walk(self, root: int, messages: Sequence[int]) -> tuple[int, int, int | None]:
        """As far as the messages are known: the node, how many they are, and the last answered end passed."""
        node, passed = root, None
        for depth, digest in enumerate(messages):
            child = self._children.get(hash((node, digest)))
            if child is None:
                return node, depth, passed
            node = child
            passed = node if self._ends.get(node) else passed
        return node, len(messages), passed

    def _rejoined(self, messages: Sequence[int], depth: int, same: Same) -> tuple[int, int]:
        """Where, behind `depth`, the last messages of the request before stand again, as (begin, end)."""
        before = self._previous
        best = (depth, depth)
        ends = [index + 1 for index in range(depth, len(messages)) if before and messages[index] == before[-1]]
        for end in ends[:MOST_ENDS]:
            count = 0
            while count < min(len(before), end - depth) and messages[end - 1 - count] == before[-1 - count]:
                count += 1
            sure = count > 1 or (end < len(messages) and same(end))
            if sure and count > best[1] - best[0]:
                best = (end - count, end)
        return best

    def _grown(self, node: int, digests: Sequence[int], branch: int | None) -> int:
        """The last of the nodes for messages behind a node."""
        for digest in digests:
            key = hash((node, digest))
            if key not in self._children:
                self._children[key] = self._node()
                self._gone_on.add(node)
            number = self._branches.get(node) if branch is None else branch
            node = self._children[key]
            if number is not None:
                self._branches[node] = number
        return node

    def _node(self) -> int:
        self._count += 1
        return self._count - 1
