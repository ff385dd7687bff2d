"""The web: one blueprint a noun, no SQL."""
