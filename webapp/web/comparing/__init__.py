"""The comparison of two profiles: matrix, cells, and a response side by side."""
