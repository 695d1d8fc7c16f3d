"""Queues, their quotas, and the admission of workloads."""
