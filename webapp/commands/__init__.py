"""The commands of the `fencepost` program, one file each, imported only when called."""
