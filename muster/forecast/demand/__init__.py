"""Demand that differs from the trace: more or fewer jobs of a queue, and further teams."""
