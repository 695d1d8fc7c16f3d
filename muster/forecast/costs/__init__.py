"""Costs of forecasts: prices of accelerators, and what queues cost in a month."""
