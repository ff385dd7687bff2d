"""Export formats, one file each."""
