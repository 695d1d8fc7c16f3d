"""What becomes of a gang between two decisions: its checks, its pods, its time, its queues.

Pure steps on plain values: who calls them reads and writes the objects.
"""
