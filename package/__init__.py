"""The Pulumi package `muster`: components of this repository for programs in any language."""
