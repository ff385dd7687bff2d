"""The letter before a Python string (u'…', b'…', r'…') is removed."""

from __future__ import annotations

from webapp.parsing.machine.repair import Repair, replacing

_mend = replacing("string_prefix")
plugin = Repair("string_prefix", r"[uUbBrRfF]{1,2}(?=[\"'](?![,\]:}]))", "kv", "uUbBrRfF", order=10, mend=_mend)
