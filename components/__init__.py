"""Pulumi components of the platform, one file each; `platform` puts them together."""
