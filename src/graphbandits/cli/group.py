"""How commands end: errors in one line, and what Ctrl-C leaves behind."""

from __future__ import annotations

import sys
import warnings
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from graphbandits.errors import GraphBanditsError, InputWarning


class OneLineErrors(TyperGroup):
    """Errors in one line, without a traceback, exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a '?' is better than a traceback
                stream.reconfigure(errors="replace")
        standalone = options.get("standalone_mode", True)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                code = super().main(*args, **(options | {"standalone_mode": False}))
        except GraphBanditsError as error:
            _fail(str(error))
        except Exception as error:
            # typer's own errors about options and arguments
            if not hasattr(error, "format_message"):
                raise
            message = error.format_message()
            if not message:  # no command was given, and the help has been shown
                raise SystemExit(0) from None
            _fail(message)
        if standalone:
            raise SystemExit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            left = str(stop) or "nothing was written for what had not finished"
            typer.echo(f"stopped; {left}.", err=True)
            raise SystemExit(130) from None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning about the input in one line, and any other as Python does."""
    if issubclass(category, InputWarning):
        typer.echo("Warning: " + " ".join(str(message).split()), err=True)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _fail(message: str) -> None:
    typer.echo("Error: " + " ".join(message.split()), err=True)
    raise SystemExit(2)
