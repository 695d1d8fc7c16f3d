"""Limits how often passes run and how much each of them writes, so that decisions come first."""
