"""What Google Cloud gives a stack: network, cluster, nodes."""
