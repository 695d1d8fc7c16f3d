"""A scheduling cycle: nominates the heads of the queues, orders them, and admits the heads that fit."""
