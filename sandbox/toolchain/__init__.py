"""Finds or builds the programs that a sandbox and a preview run, and shows progress."""
