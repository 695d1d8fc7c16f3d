"""Converts API objects to values of the admission core, for decisions and forecasts."""
