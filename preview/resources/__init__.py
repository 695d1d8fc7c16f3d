"""Resources as previews, drift and plugins know them: property values, differences, Kubernetes objects."""
