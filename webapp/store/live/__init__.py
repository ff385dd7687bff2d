"""Takes spans of running programs: in any order, late, repeated, from several processes, one commit for many."""

from webapp.store.live.gate import Busy, Gate
from webapp.store.live.spans import Arrived, arrived

__all__ = ["Arrived", "Busy", "Gate", "arrived"]
