"""Typed settings of a stack: their model, the rules that join its parts, and how problems are reported."""
