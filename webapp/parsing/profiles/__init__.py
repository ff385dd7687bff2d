"""Profiles: named, versioned parsers, one file each."""
