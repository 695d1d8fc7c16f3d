"""Replays of the cases of each suite: one module for each package of the core."""
