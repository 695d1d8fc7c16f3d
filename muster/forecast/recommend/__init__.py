"""Recommendations: searches quotas, limits, weights and pool sizes that meet goals at least cost."""
