"""The observed objects of a pass, which of them belong together, and what is kept from pass to pass."""
