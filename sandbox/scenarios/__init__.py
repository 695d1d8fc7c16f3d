"""What `make up` plays: work is submitted, and milestones are read back from the API server.

`jobs` and `serving` are the scenarios, `play` submits and shows, all the rest is pure.
"""
