"""Takes spans of running programs: in any order, late, repeated, from several processes, one commit for many."""

from webapp.store.live.group_commit import Busy, Gate
from webapp.store.live.logs import ArrivedLog, OtherLog, arrived_logs
from webapp.store.live.spans import Arrived, arrived

__all__ = ["Arrived", "ArrivedLog", "Busy", "Gate", "OtherLog", "arrived", "arrived_logs"]
