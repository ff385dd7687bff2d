"""The repair machine: a broken JSON value goes in, the edits that make it decode come out."""
