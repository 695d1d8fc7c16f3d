"""Whom to send away for a workload that does not fit."""
