"""Metrics of passes and writes, and gauges of queues."""
