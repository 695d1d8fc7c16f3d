"""The client of the API server: kinds, writes, and local copies that watches update."""
