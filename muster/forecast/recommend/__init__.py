"""Recommendations: search for quotas, limits, weights and pool sizes that meet goals at the lowest cost."""
