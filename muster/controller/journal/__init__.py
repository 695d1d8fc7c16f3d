"""What the controller writes to the journal."""
