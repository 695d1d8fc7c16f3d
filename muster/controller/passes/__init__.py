"""One pass: from the objects as observed, by a decision of the core, to writes."""
