"""The database itself: how it is opened and what its columns hold. Knows no table; every other package stands on it."""
