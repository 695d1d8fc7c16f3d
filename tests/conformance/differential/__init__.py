"""Random clusters and histories, decided by the real Kueue and by the core on the same objects."""
