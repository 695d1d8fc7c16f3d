"""The life of a Workload: its creation for a job, its states and their transitions."""
