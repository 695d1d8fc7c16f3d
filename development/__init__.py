"""Commands for contributors: test layers, formatting, lock files, generated docs."""
