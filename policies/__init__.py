"""The policy pack: what no stack may break, whoever wrote it. README.md tells how it is run and excused."""
