"""Tenants: what a team may do, use and reach in its namespace."""
