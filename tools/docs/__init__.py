"""Writes generated pages and generated sections of pages."""
