"""Kubernetes and its operators as processes of one sandbox, and access to them."""
