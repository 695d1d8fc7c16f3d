"""Draws pictures for the docs as SVG: the flow of a RayJob, the timeline of a scenario, and benchmarks."""
