"""Checks of English and of names: Vale with the house style, and rules for identifiers."""
