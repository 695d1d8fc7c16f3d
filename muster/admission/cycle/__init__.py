"""A scheduling cycle: nominates the heads of the queues, orders them, and admits those that fit."""
