"""A discrete-event simulation around the admission core."""
