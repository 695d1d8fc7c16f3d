"""A storm on a real API server: everything that fails in production at once, and every revision read back."""
