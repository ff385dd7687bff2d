"""A byte order mark, zero-width or exotic space between two tokens is removed."""

from __future__ import annotations

from webapp.parsing.machine.repair import Repair, replacing

_SPACES = "\x0b\x0c\x1c-\x1f\x85\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
_STARTS = "\x0b\x0c\x1c\x1d\x1e\x1f\x80"
_mend = replacing("invisible_character")
plugin = Repair("invisible_character", f"[{_SPACES}]+", "kcva", _STARTS, order=1, mend=_mend)
