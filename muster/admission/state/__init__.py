"""The working state of decisions: the quota tree and its holdings, also for simulations of preemption."""
