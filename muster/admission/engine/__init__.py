"""The engine: runs cycles until nothing changes, and keeps its state between decisions."""
