"""``python -m graphbandits`` is the command line."""

from graphbandits.cli import main

main()
