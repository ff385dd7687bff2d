"""Repairs: rules for one kind of defect each, one file a repair or a family that shares a pass."""
