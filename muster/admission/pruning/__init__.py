"""Bounds and an index that tell which pending workloads need not be tried: faster, and the same decisions."""
