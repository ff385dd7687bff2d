"""Dumps: a file in any known format becomes sessions, turns and problems; pure.

Each module is on the way of a file, and knows only those before it:

- `spool`: what was sent, unpacked to a file; `budget` says what reading it may take.
- `opening`: that file as a `Source`, UTF-8 with a record a line, whatever its encoding and layout; `text_records` and
  `yaml_values` read what is no JSON.
- `first_look`: what the beginning of a source shows, its `DumpHead`, from which `reading` takes the surest `Format`.
- `sessions`: a session's entries; those of sessions that lie among each other are kept aside on disk.
- `documents` on `stream` and `window`, `sqlite_tables`, `parquet_rows`, `archive_members`: its entries, one at a time,
  and the sessions that they are of, by what `session_keys` finds that they name.
- `base`: a `Format`, which makes turns of an entry, with `messages` and `spans`; `declared` are those of formats.toml.
- `linked_turns` and `unread`: turns with what later ones say of them, and texts that are in none.
- `answer_alarm`: sessions without answers; `advice` with `mappings` and `programs`: what else to do about a file.
"""
