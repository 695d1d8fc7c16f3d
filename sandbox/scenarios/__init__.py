"""Scenarios of `make up`: jobs are submitted, and milestones are observed on the API server.

`jobs` and `serving` are the scenarios, `runner` submits and prints; the other modules are pure.
"""
