"""Finds or builds the programs for sandboxes and previews, and shows progress."""
