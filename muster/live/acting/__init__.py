"""Actions on jobs and queues of a cluster: writes and results as values, for the verbs that send them."""
