"""Turns: one response beside its parse attempts, and what is handed on of it."""
