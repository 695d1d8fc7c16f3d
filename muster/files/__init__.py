"""Reads and writes the files that users name: bounded in size and time, with errors that say what to do."""
