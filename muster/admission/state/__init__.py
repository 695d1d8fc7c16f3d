"""The working state: the quota tree with its holdings, which cycles change and searches simulate on."""
