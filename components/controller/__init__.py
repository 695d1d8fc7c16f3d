"""Muster's controller: its image, its Deployment, its rights."""
