"""Native tool calls: the tags and names of the model families, and calls that are not JSON as they are written."""
