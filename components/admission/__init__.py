"""Admission policies: the API server itself restricts what users do with Ray objects."""
