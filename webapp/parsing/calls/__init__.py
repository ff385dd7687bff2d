"""Native tool calls: the tags and names of the model families, and calls that are not JSON as they are written.

`markup` knows the tags; `xml`, `pythonic` and `braces` each take one notation and give the edits that make JSON of it.
"""
