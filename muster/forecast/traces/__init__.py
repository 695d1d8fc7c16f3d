"""Traces: jobs with their arrival and run time, read from files or drawn from distributions."""
