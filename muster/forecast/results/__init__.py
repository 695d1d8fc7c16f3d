"""What a simulation yields: attempts of jobs, waits, usage, cost."""
