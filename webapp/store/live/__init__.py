"""Takes spans of running programs: in any order, late, repeated, from several processes."""

from webapp.store.live.growth import show_overdue, take
from webapp.store.live.logs import ArrivedLog, OtherLog, arrived_logs
from webapp.store.live.reading import Arrived, arrived

__all__ = ["Arrived", "ArrivedLog", "OtherLog", "arrived", "arrived_logs", "show_overdue", "take"]
