"""`make bench`: what the product costs in seconds and bytes, beside a peer or a limit in the same run."""
