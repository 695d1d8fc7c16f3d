"""Commands for people who change this code: test layers, formatting, lock files, generated docs."""
