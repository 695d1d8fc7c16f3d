"""Rules beyond Kueue's, each off unless the configuration or a queue asks for it: one file a rule."""
