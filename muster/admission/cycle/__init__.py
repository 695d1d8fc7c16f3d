"""One scheduling cycle: the heads of the queues, nominated, put in order, and let in or not."""
