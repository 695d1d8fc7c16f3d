"""Builds the images of the sandbox's real nodes, without a container engine or a registry of images.

Root file systems come from Debian's packages, Ray and the controller from Muster's lock files. Every image is
an OCI archive in the cache, under a key of all its inputs.
"""
