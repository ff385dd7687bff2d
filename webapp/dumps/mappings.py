"""Mappings of a turn's fields to paths: what they may name, what there is in somebody's own JSON, and a first guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from webapp.dumps.json_path import (
    MOST_PATHS,
    BadPath,
    OutlinePath,
    Steps,
    each_at,
    member,
    parse_each,
    parse_path,
    places_of,
    value_at,
)
from webapp.dumps.records import role_of
from webapp.dumps.source import DumpHead
from webapp.dumps.values import WORDS, as_object, is_speech, moment
from webapp.refusals import WrongUse

MAPPED = "mapped"
"""the format that reads by a mapping"""
TEXTS = ("role", "agent", "model", "phase", "parent", "failure")
NUMBERS = ("sounding", "round", "attempt", "tokens_in", "tokens_out")
FIELDS = ("raw", "prompt", "where", "each", "table", "session", "title", "kind", "time", "cost", *TEXTS, *NUMBERS)
"""What a mapping may name; `raw` it must. The others are looked for in what `each` leads to, then around it."""
LABELS = ("said", "asked")
"""Of a text, fields whose values are the words, with commas between, behind which a model speaks, and who asks it."""
_WHERE = re.compile(r"(?P<path>.*?)\s*(?P<sign>!?=)=?\s*(?P<value>.*)", re.DOTALL)
_LEAST, _MANY, _PAGES = 4, 3, 6
"""records: fewer show no shape; texts for each that is said; texts of a program's pages"""
_MODEL, _ASKER = {"assistant"}, {"user", "system", "tool"}
_DATED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_RUN = re.compile(r"run|sess|conv|thread|chat|trace|dialog|job|ticket|case|task|episode|_id$|^id$", re.I)
_LONGEST_ID = 80
_SPEAKERS = re.compile(
    r"from|by|author|sender(?:_?name)?|speaker|direction|who|user_?id|handle|source|is_?(?:human|user|bot|sender)", re.I
)
"""keys that say who wrote what stands beside them"""


class BadMapping(WrongUse):
    """The mapping names a field that there is not, no `raw`, or a path that cannot be read; the message says which."""


def paths_of(mapping: Mapping[str, Any]) -> tuple[tuple[Steps, ...], dict[str, Steps]]:
    """The path of `each` in its parts, and those of the fields. Raises `BadMapping`."""
    if "said" in mapping and set(mapping) <= set(LABELS):
        return (), {}
    if unknown := sorted(set(mapping) - set(FIELDS)):
        raise BadMapping(f"there is no field {unknown[0]!r} to map; there are: {', '.join(FIELDS)}")
    if "raw" not in mapping:
        raise BadMapping("the mapping names no path for raw, the text of a response")
    try:
        each = parse_each(mapping["each"]) if "each" in mapping else ()
        if "where" in mapping:
            condition(mapping["where"])
        return each, {key: parse_path(path) for key, path in mapping.items() if key not in ("each", "table", "where")}
    except BadPath as bad:
        raise BadMapping(str(bad)) from bad


def condition(where: Any) -> tuple[Steps, bool, str | None]:
    """Path, whether it must be so, and the text that must stand there, None where anything may: `$.kind=llm`,
    `$.level!=debug`, `$.reply`. Raises `BadPath`."""
    match = _WHERE.fullmatch(where) if isinstance(where, str) else None
    if match is None:
        return parse_path(where), True, None
    return parse_path(match["path"]), match["sign"] == "=", match["value"].strip().strip("\"'")


def columns(values: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """What stands at each path that leads to a text or a number, record by record; nulls are left out."""
    shapes: dict[str, list[Any]] = {}
    for value in values:
        for place in places_of(value, "$", 0):
            if place.kind in ("text", "number") and (len(shapes) < MOST_PATHS or place.path in shapes):
                shapes.setdefault(place.path, []).append(place.text if place.text is not None else place.sample)
    return shapes


def by_shape(shapes: dict[str, list[Any]], records: int, used: set[str]) -> dict[str, str]:
    """`time`, `role`, `session`: dates in all records, both sides of a conversation, an id that comes again."""
    whole = {path: values for path, values in shapes.items() if len(values) == records and path not in used}
    if records < _LEAST:
        return {}
    mapping: dict[str, str] = {}
    for field, test in (("time", _is_time), ("role", _is_role), ("session", _is_session)):
        fitting = [path for path, values in whole.items() if path not in mapping.values() and test(path, values)]
        if fitting:
            mapping[field] = max(fitting, key=lambda path: field == "session" and bool(_RUN.search(path)))
    return mapping


def _is_time(path: str, values: list[Any]) -> bool:
    return all(_DATED.match(value) and moment(value) for value in values)


def _is_role(path: str, values: list[Any]) -> bool:
    """Both who asks and who answers are named, and hardly anybody else."""
    roles = [role_of({"role": value}) for value in values]
    sides = [role for role in roles if role in _MODEL | _ASKER]
    return bool(_MODEL & set(sides)) and bool(_ASKER & set(sides)) and len(sides) * 10 >= len(roles) * 9


def _is_session(path: str, values: list[Any]) -> bool:
    """Ids that come again: in one stretch each, or under a name that such ids have."""
    different, is_named = len(set(values)), bool(_RUN.search(path.rpartition(".")[2]))
    if different > len(values) / 2 or any(len(value) > _LONGEST_ID or " " in value for value in values):
        return False
    is_kind = path.lower().endswith(("type", "kind", "status", "level", "category"))
    return is_named or (not is_kind and 1 < different == 1 + sum(one != two for one, two in pairwise(values)))


_GUESSES = {field: tuple(WORDS[f"guess_{field}"].split()) for field in WORDS["guesses"].split()}
_ASKED = WORDS["in_asked"].split()
"""words of paths that lead to what a model was asked"""
_HOLDER = re.compile(r"\$(?:\.\w+)*?\.\w*(?:json|response|output|answer|reply|completion)\w*(?=\.[^\[]+\Z)", re.I)
"""the path of an object that is itself what a model answered"""
_REFERENCES = re.compile(
    r"expected|gold|reference|canonical|truth|ideal|(?<![a-z])tests?(?![a-z])|distractor|choice|option|label|rubric|verdict"
    r"|criteria|judg|retriev|evidence|source|goal|persona|backstory|(?<![a-z])roles?(?![a-z])|(?<![a-z])(?:notes?|src)(?![a-z])|error|descri|hint|polic",
    re.I,
)
"""words of paths that lead to what an answer is held against, or to what is said of one"""
_NO_ANSWERS = {name for field in ("session", "model", "role", "time", "agent") for name in _GUESSES[field]}
_NO_ANSWERS.update(WORDS["no_answers"].split())


def outline(values: list[dict[str, Any]]) -> list[OutlinePath]:
    """The paths of these records, in their order, each with the longest text that stands there."""
    places: dict[str, OutlinePath] = {}
    for record in values:
        for place in places_of(record, "$", 0):
            longest = len(places[place.path].text or "") if place.path in places else -1
            if (len(places) < MOST_PATHS or place.path in places) and len(place.text or "") > longest:
                places[place.path] = place
    return list(places.values())


def is_crowded(head: DumpHead, count: int) -> bool:
    """Whether an object has far more texts than the `count` that somebody says, as a page or a reference has."""
    texts = {place.text for place in outline(head.objects) if is_speech(place.text or "")}
    return head.shape == "object" and len(texts) > _MANY * count


def guessed(head: DumpHead) -> dict[str, str]:
    """A mapping that may read what the head shows; without `raw` where it shows no text.

    Where it goes through lists of records, `each` begins at the document.
    """
    mapping, longest = guess(records(head)), _longest(head)
    if "each" in mapping and longest is not None:
        mapping["each"] = f"{member(longest)}[*]{mapping['each'].removeprefix('$')}"
    return mapping


def guessed_tables(head: DumpHead) -> list[dict[str, str]]:
    """As `guessed`, for each table of a database that has rows with texts, the likeliest names first."""
    mappings = [
        {"table": name, **guess([row for row in rows if isinstance(row, dict)])} for name, rows in head.items.items()
    ]
    return sorted(
        mappings, key=lambda mapping: not re.search("messag|chat|turn|event|respon|log", mapping["table"], re.I)
    )


def _longest(head: DumpHead) -> str | None:
    """The key of an object's longest list, whose items are the records; None where it has no list, or is none."""
    return max(head.items, key=lambda name: len(head.items[name]), default=None) if head.shape == "object" else None


def records(head: DumpHead) -> list[dict[str, Any]]:
    """The first records, as the format `mapped` takes them: lines, a list's items, or the document itself."""
    longest = _longest(head)
    if head.shape == "sqlite":
        return [row for rows in head.items.values() for row in rows if isinstance(row, dict)]
    document = [head.members] if longest is None else head.items[longest]
    items = document if head.shape == "object" else head.samples
    return [item for item in items if isinstance(item, dict)]


def guess(values: list[dict[str, Any]]) -> dict[str, str]:
    """Fields whose paths are called as such things are called, else by the shape of their values; raw falls back on the
    longest text."""
    places = outline(values)
    mapping: dict[str, str] = {}
    for field, names in _GUESSES.items():
        fitting = [place for name in names for place in places if name in _names(place.path)]
        texts = [place for place in fitting if place.text is not None or field not in ("raw", "prompt")]
        if field == "raw":  # "content" is what messages of a request are called by, too
            texts.sort(key=lambda place: is_no_answer(place.path))
        if texts and texts[0].path not in mapping.values():
            mapping[field] = texts[0].path
    if "raw" not in mapping:
        answers = [place for place in places if place.text and not is_no_answer(place.path)]
        longest = max(answers, key=lambda place: (" " in (place.text or ""), len(place.text or "")), default=None)
        if longest is not None and " " in (longest.text or ""):
            holder = _HOLDER.match(longest.path)
            mapping["raw"] = holder[0] if holder else longest.path
    listed = iterated(mapping, {place.path for place in places})
    return listed if "each" in listed else by_shape(columns(values), len(values), set(listed.values())) | listed


def holders(mapping: dict[str, str], head: DumpHead) -> list[dict[str, Any]]:
    """The objects in which a mapping finds what was said."""
    rows = head.items.get(mapping.get("table", ""), []) or head.objects
    if "each" in mapping:
        around = [head.document] if head.shape == "object" else rows
        rows = [item for row in around for _, item, _ in each_at(row, parse_each(mapping["each"]))]
    elif head.shape == "object":
        rows = max(head.items.values(), key=len, default=[head.members])
    return [as_object(value_at(row, parse_path(mapping["raw"])[:-1])[0]) for row in rows]


def speakers(mapping: dict[str, str], head: DumpHead) -> str | None:
    """The key that names several who speak under the same one, where nothing that the mapping names does."""
    if "role" in mapping or "prompt" in mapping:
        return None
    beside = holders(mapping, head)
    keys = sorted({key for row in beside for key in row if _SPEAKERS.fullmatch(key) and isinstance(row[key], str)})
    return next((key for key in keys if len({str(row.get(key)) for row in beside}) > 1), None)


def is_no_answer(path: str) -> bool:
    """Whether a path leads to what was asked, to what an answer is held against, or to what something is called."""
    is_asked = any(word in path.lower() for word in _ASKED)
    return is_asked or _REFERENCES.search(path) is not None or _names(path)[0] in _NO_ANSWERS


def iterated(mapping: dict[str, str], paths: set[str]) -> dict[str, str]:
    """The mapping over each item of the lists that `raw` lies in, where they hold several."""
    steps = mapping.get("raw", "").split("[0]")
    several = [n for n in range(1, len(steps)) if any(p.startswith("[0]".join(steps[:n]) + "[-1]") for p in paths)]
    if not several:
        return mapping
    beginning = "[0]".join(steps[: several[-1]]) + "[0]"
    relative = {
        field: f"${path.removeprefix(beginning)}" if path.startswith(beginning) else path
        for field, path in mapping.items()
    }
    return {"each": "[*]".join(steps[: several[-1]]) + "[*]", **relative}


def _names(path: str) -> tuple[str, str]:
    """What a path's end is called: `id`, and with the member that it stands in `run_id`."""
    steps = [step.strip("\"'] ").lower() for step in re.split(r"[.\[]", path)]
    return steps[-1], "_".join(steps[-2:])


def are_labels(document: dict[str, Any]) -> bool:
    """Whether it holds only lines of text below keys below keys, none a time: as pages have it in one language."""
    parts = [inner for inner in document.values() if isinstance(inner, dict)]
    texts = [text for part in parts for inner in part.values() for text in as_object(inner).values() or [inner]]
    lines = [text for text in texts if isinstance(text, str) and "\n" not in text and not re.match(r"\d{4}-\d\d", text)]
    return len(parts) == len(document) and len(texts) == len(lines) >= _PAGES
