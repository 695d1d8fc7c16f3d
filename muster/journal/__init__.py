"""The journal of workloads that are over: its format, and its files."""
