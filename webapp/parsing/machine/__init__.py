"""The repair machine: a broken JSON value goes in, the edits that make it decode come out.

`state` holds what is known while reading, `reader` is the loop, every other module takes the state as its argument.
"""
