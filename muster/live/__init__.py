"""Answers about a live cluster: whether a job would fit now, and when a workload starts."""
