"""Stored sessions and labels go out as files: dumps, archives of them, and the formats of `webapp.exports`."""
