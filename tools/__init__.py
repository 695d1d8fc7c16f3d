"""Commands for contributors, and the toolchain: locked Python environments and pinned programs."""
