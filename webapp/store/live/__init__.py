"""Takes spans of running programs: in any order, late, repeated, from several processes."""
