"""Failure groups: failed responses come in as narrow rows, what goes out are the kinds of failure, under any filters.

`scope` says which rows are in view, `group_line` counts them, `groups` lists them, `group_detail` shows one group,
`neighbours` goes from one response of a group to the next; `events` holds what people say of groups.
"""
