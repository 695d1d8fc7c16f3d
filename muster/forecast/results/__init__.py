"""Results of a simulation: attempts of jobs, waits, usage, comparisons."""
