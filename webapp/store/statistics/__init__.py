"""Filters come in, and what the sessions in view add up to goes out: tables, bars and steps of time."""
