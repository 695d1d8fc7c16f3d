"""Views of a cluster's queues and workloads as values for the command line and the page. Every number comes
from the core."""
