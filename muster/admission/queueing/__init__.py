"""Who stands in which queue, in which order, and who is tried next."""
