"""The server that `fencepost serve` runs: waitress with deadlines, limits by peer and by route, and our headers."""
