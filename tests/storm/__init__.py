"""A storm of faults on a real API server, in which every revision of the objects is checked."""
