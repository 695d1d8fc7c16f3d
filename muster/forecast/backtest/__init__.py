"""Backtests: estimates of starts in the past, from earlier records only, compared with the starts."""
