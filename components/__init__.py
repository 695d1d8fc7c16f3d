"""One file a thing that a platform engineer would name; `platform` puts them together."""
