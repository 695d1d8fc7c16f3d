"""Queues, and who admits what stands in them."""
