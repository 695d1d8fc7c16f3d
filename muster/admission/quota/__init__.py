"""The quota tree: nominal quota, usage, borrowing and lending of ClusterQueues and Cohorts."""
