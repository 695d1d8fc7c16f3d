"""Node pools: what a pool asks of GKE, and the flavor, labels and taints that follow from it."""
