"""Preemption: the victims for a workload that does not fit."""
