"""Runs the test layers."""
