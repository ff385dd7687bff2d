"""Parts: what large runs made of responses, in Parquet files beside the database.

What enters are the columns of a chunk; what leaves are relations of DuckDB, or what was made of a few turns. A part
counts by its row in `run_part` alone, which is written after the file; the database's own parse goes before any part.
"""
