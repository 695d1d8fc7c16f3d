"""The configuration file, in the format of Kueue's."""
