"""Tenants: a team's permissions, limits and network access in its namespace."""
