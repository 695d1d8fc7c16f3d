"""Passes, which read the observed objects, let the core decide, and plan writes."""
