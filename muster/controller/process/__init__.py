"""The process: election, probes, and the loop that calls one pass after another."""
