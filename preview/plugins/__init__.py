"""Offline stand-ins for the Pulumi plugins: the Python language host, the Kubernetes and the GCP provider."""
