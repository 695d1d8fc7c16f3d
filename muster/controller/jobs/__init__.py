"""The kinds of work that Muster admits, one file a kind."""
