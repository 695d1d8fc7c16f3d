"""Cycles until nothing changes, kept from one decision to the next: from a snapshot to a plan."""
