"""Views of the queues and workloads of a cluster, as values, with every number from the core: for command
lines and pages."""
