"""Muster's controller: image, Deployment, RBAC."""
