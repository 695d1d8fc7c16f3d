"""Scheduling cycles over a working state until nothing changes: from a snapshot to a plan."""
