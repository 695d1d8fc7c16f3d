"""Queues of pending workloads: their order, heads and requeueing."""
