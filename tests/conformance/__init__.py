"""Kueue's own test cases, replayed through the controller's snapshot builder and the core."""
