"""Faults of an installation and its objects, each with its remedy: pure functions of what is listed."""
