"""The reconciler: observes the cluster, decides with the core, and writes the result."""
