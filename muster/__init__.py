"""Muster: gang and priority admission for Ray on Kubernetes."""

__version__ = "0.2.0"
