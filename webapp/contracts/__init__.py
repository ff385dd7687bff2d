"""Calls and answers held against what their request declares: declarations and texts in, states out; pure."""
