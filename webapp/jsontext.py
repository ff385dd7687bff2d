"""JSON text in and out, exactly: NaN, integers of any size and lone surrogates survive a round trip.

The standard library and not orjson, which writes NaN as null and reads long integers as floats without a
word: a debugger may not change what it shows.
"""

from __future__ import annotations

import json
from json import encoder
from typing import Any

_encoder = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False)
_make: Any = getattr(encoder, "c_make_encoder", None)
_pieces: Any = _make and _make(
    None, _encoder.default, encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)
"""What `_encoder` makes anew for each text, where Python has it in C."""


def dumps(value: Any) -> str:
    """Compact ASCII JSON; NaN and Infinity as Python writes them."""
    return "".join(_pieces(value, 0)) if _pieces else _encoder.encode(value)


def quoted(text: str) -> str:
    """`text` as `dumps` writes it, within whatever value it stands."""
    return encoder.encode_basestring_ascii(text)


def loads(text: str | bytes) -> Any:
    """What `dumps` wrote. Raises `json.JSONDecodeError` as `json.loads` does."""
    return json.loads(text)


def pretty(value: Any) -> str:
    """Indented JSON for people; escapes only what could not be shown. Very deep values come out compact."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, indent=2)
    except RecursionError:
        return "⟨nested too deeply to show⟩"
    return text
