"""Findings: rules over a whole session's turns, one file a rule; pure."""
