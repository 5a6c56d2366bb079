"""Entry point of ``python -m graphbandits``: the command line."""

from graphbandits.cli import main

main()
