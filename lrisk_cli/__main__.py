"""`python -m lrisk_cli` is `lrisk`."""

from lrisk_cli.cli import main

main()
