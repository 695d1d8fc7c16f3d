"""Traces: jobs with arrival and run times, read from files or drawn from distributions."""
