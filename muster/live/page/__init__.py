"""The page of a running cluster, `muster serve`: read-only, kept up to date by watches."""
