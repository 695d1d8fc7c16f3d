"""A team's namespace, and everything in it that is the platform's."""
