"""Filters come in, and the responses to label go out one after the other, to several people at once."""
