"""Pending workloads: their queues, the order in them, and which one is tried next."""
