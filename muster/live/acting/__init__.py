"""Acting on jobs and queues of a cluster: writes and answers as values, for the verbs that send them."""
