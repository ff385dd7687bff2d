"""Kills Fencepost's processes and servers at random moments, again and again, and counts anew what is stored."""
