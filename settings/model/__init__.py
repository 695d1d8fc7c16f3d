"""Models of a stack file, one class per section."""
