"""The gate: what a parser makes of labelled responses, against a committed baseline; knows no database and no web."""
