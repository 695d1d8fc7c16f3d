"""Scenarios of `make up`, which submit jobs and observe milestones on the API server.

`jobs` and `serving` are the scenarios; `runner` submits the jobs and prints; the other modules are pure.
"""
