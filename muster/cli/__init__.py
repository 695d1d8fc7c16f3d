"""`muster` on the command line."""

from muster.cli.main import main as main
