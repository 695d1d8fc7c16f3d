"""Compares the Kubernetes objects of a deployed stack with the live ones; reverts changes made by hand."""
