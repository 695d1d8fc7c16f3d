"""What the API server itself lets users do with Ray objects, by admission policies."""
