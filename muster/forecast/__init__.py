"""Forecasts: replay a trace of jobs through the admission core under a queue configuration."""
