"""The kinds of jobs that Muster admits, one per file."""
