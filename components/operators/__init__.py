"""Operators, installed by Helm charts and CRDs."""
