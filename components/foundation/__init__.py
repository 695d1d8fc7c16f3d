"""A stack's Google Cloud resources: network, cluster, nodes."""
