"""The reconciler: sees the world, decides with the core, writes what follows."""
