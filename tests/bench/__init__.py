"""`make bench`: time and memory of the product, next to a peer or a limit in the same run."""
