"""Which responses a queue holds, as a URL's parameters say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from webapp.parsing import failure_group
from webapp.store.sessions import filters as filtering
from webapp.store.sessions.filters import BadFilter

KINDS = {
    "failed": "failed",
    "one-per-group": "one of each failure group",
    "disagree": "profiles disagree",
    "silent": "possibly silently wrong",
    "sample": "random sample",
    "view": "a filter of the list",
    "chosen": "chosen sessions",
    "group": "a failure group",
}
FAILED, GROUPS, GROUP, SAMPLE, VIEW, CHOSEN = "failed", "one-per-group", "group", "sample", "view", "chosen"
LARGEST_SAMPLE = 10_000
MOST_CHOSEN = 1_000
MOST_OF_GROUP = 1_000
"""responses of a failure group, the newest"""


@dataclass(frozen=True, slots=True)
class Spec:
    """Which responses are queued. `size` and `seed` are a sample's, `view` the list's filters as a query string, which
    a failure group may have too, `ids` the keys of chosen sessions, `group` the key of a failure group."""

    kind: str = "failed"
    size: int = 100
    seed: int = 1
    view: str = ""
    ids: tuple[str, ...] = ()
    group: str = ""

    def query(self) -> dict[str, Any]:
        """The parameters of a URL that leads to this queue."""
        if self.kind == "sample":
            return {"queue": "sample", "size": self.size, "seed": self.seed}
        if self.kind == "chosen":
            return {"queue": "chosen", "ids": list(self.ids)}
        if self.kind == GROUP:
            return {"queue": GROUP, "group": self.group} | ({"view": self.view} if self.view else {})
        return {"queue": self.kind} | ({"view": self.view} if self.kind == "view" else {})

    @property
    def name(self) -> str:
        """What a sample that was drawn is called."""
        return f"size={self.size}&seed={self.seed}"

    @property
    def words(self) -> str:
        """What a person calls it."""
        more = {
            "sample": f" of {self.size}, seed {self.seed}",
            "view": f" ({self.view})",
            "chosen": f" ({len(self.ids)})",
            "group": f" ({failure_group.title(self.group)}{self.view and ', ' + self.view})",
        }
        return KINDS[self.kind] + more.get(self.kind, "")

    def filters(self) -> filtering.Filters:
        return filtering.of_parameters(dict(parse_qsl(self.view)))


def spec_of(parameters: Mapping[str, str], ids: Sequence[str] = ()) -> Spec:
    """The queue that a URL's parameters ask for, `ids` all of that name; raises `BadFilter`."""
    kind = parameters.get("queue") or ("chosen" if ids else "failed")
    if kind not in KINDS:
        raise BadFilter(f"queue takes {', '.join(KINDS)}, not {kind[:100]!r}")
    if kind == "sample":
        return Spec(kind, _whole(parameters, "size", 100, LARGEST_SAMPLE), _whole(parameters, "seed", 1, 2**31))
    if kind == "view":
        return Spec(kind, view=_view(parameters))
    if kind == GROUP:
        group = parameters.get("group", "").strip()
        if not 0 < len(group) <= 500:
            raise BadFilter("group takes a failure group's key, of at most 500 characters")
        return Spec(kind, group=group, view=_view(parameters))
    return Spec(kind, ids=tuple(dict.fromkeys(ids))[:MOST_CHOSEN] if kind == "chosen" else ())


def _view(parameters: Mapping[str, str]) -> str:
    """The list's filters that are asked for, always written the same way."""
    filters = filtering.of_parameters(dict(parse_qsl(parameters.get("view", ""))))
    view = urlencode(sorted(filters.active().items()))
    if len(view) > 900:
        raise BadFilter("this filter is too long for a queue")
    return view


def _whole(parameters: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = parameters.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and 0 <= int(text[:20]) <= most):
        raise BadFilter(f"{name} must be a whole number up to {most}, not {text[:100]!r}")
    return int(text)
