"""The policy pack: rules for every stack. README.md explains how to run it and how to exempt resources."""
