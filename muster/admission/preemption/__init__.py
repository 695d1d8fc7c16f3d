"""Preemption: finds preemption targets for a workload that does not fit."""
