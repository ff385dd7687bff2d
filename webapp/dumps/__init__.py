"""Dumps: a file in any known format becomes sessions, turns and problems; pure."""
