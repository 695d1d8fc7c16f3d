"""Talking to the API server: kinds, writes, a local copy kept by watches."""
