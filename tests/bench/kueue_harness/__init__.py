"""Kueue's own performance harness, run with minimalkueue and with Muster in its place: `make bench-kueue`."""
