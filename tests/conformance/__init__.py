"""Kueue's own cases, replayed through the core behind the controller's snapshot builder."""
