"""The lifecycle of a Workload: its creation for a job, its phases and the transitions between them."""
