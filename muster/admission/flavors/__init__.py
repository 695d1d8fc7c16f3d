"""Which flavor each pod set takes, and how it could be had."""
