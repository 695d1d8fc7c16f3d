"""Records of the controller for the journal."""
