"""One scheduling cycle: the heads of the queues are nominated, ordered, and admitted or not."""
