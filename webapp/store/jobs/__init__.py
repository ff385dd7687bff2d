"""What goes on behind requests: a dump, a profile or an index to go through comes in, progress and a result go out."""
