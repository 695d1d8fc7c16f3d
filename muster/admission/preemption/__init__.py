"""Preemption: finds victims for a workload that does not fit."""
