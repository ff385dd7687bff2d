"""Your parser: which one a session's program uses, asked for, changed, undone and remembered."""
