"""Failure groups: failed responses come in from the parses, what goes out are the kinds of failure, under any filters.

`failure_index` keeps them in memory, `overlay` and `events` hold what people say of groups, `groups` lists them,
`group_detail` shows one, `neighbours` goes from one response of a group to the next.
"""
