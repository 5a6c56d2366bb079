"""Command-line interface. Each command imports its dependencies when it runs."""

from graphbandits.cli.app import app, main

__all__ = ["app", "main"]
