"""A dump comes in as a stream of bytes, and goes out as a kept file, stored sessions and a list of its problems."""
