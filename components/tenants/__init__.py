"""A team's namespace, and the platform's objects in it."""
