"""Starts and stops gangs according to their persisted Workloads."""
