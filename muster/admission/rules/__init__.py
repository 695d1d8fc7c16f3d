"""Optional rules that Kueue does not have: hooks that the engine gives to its state."""
