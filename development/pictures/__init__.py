"""Pictures of the docs, drawn as SVG: the way of a RayJob, and the timeline of a scenario's run."""
