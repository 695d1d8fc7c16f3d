"""Models of what a stack is built on: its network and its cluster."""
