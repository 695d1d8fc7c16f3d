"""The controller's configuration file, in Kueue's format."""
