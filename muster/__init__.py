"""Muster: gang and priority admission for Ray on Kubernetes."""
