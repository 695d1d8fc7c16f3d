"""Optional rules that Kueue does not have; the engine installs them as hooks of its state."""
