"""Dumps: pages and API through which files come in, the jobs that read them, and mappings."""
