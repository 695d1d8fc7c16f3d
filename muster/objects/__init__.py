"""Typed partial views of the Kubernetes objects that Muster reads and writes."""
