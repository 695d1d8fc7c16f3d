"""Skips pending workloads that cannot be admitted, by bounds and an index. Decisions are the same without
it."""
