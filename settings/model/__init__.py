"""What a stack file may hold, one class a section."""
