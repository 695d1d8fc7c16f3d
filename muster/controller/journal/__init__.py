"""Writes the controller's records to the journal."""
