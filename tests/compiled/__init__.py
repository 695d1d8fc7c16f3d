"""Tests of the compiled admission core."""
