"""What Google Cloud gives a stack: its network and its cluster."""
