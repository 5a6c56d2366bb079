"""Entry point of ``python -m graphbandits``: the command line."""

from graphbandits.cli import main

if __name__ == "__main__":  # worker processes import this module, too
    main()
