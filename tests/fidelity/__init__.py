"""`make fidelity`: the forecast of a trace next to what Muster's controller and the real Kueue do with it."""
