"""What stands: the quota tree with its holdings, as cycles change it and searches try it."""
