"""Estimates of the start of pending jobs: written as an annotation, and later compared with the
actual start."""
