"""Muster: gang and priority admission for Ray on Kubernetes."""

__version__ = "0.1.0"
