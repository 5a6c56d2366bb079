"""The command line; each command loads what it needs when it runs."""

from graphbandits.cli.app import app, main

__all__ = ["app", "main"]
