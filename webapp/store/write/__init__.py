"""A session is written: its turns come in as a dump or a span has them, and go out as rows, counters and findings."""
