"""Filters come in, and what the responses in view add up to goes out: rates over time, and by one thing."""
