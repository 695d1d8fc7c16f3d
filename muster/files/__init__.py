"""Reads and writes the files that users name, with limits on size and time, and errors that name the fix."""
