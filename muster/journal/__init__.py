"""The journal of finished workloads: its format and its files."""
