"""The ``graphbandits`` command. Nothing but typer and rich is imported until a command runs."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphbandits._version import __version__
from graphbandits.cli.catalogue_commands import list_, new
from graphbandits.cli.check_commands import audit, check
from graphbandits.cli.inspect_commands import graph, inspect
from graphbandits.cli.run_commands import reproduce, run, simulate
from graphbandits.cli.store_commands import compare, report, store
from graphbandits.errors import GraphBanditsError, InputWarning

#: Letters of a word in an error, such as a path; of longer ones the beginning and the end.
LONGEST = 500


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
    message: Warning | str, category: type[Warning], *where: Any, **options: Any
) -> None:
    """Show a warning about the input in one line, and any other as Python does."""
    if issubclass(category, InputWarning):
        typer.echo("Warning: " + " ".join(str(message).split()), err=True)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, *where[:2]))


def _fail(message: str) -> None:
    # a control character might change the terminal, and a very long word hides the sentence
    words = (ascii(word)[1:-1] if not word.isprintable() else word for word in message.split())
    shown = (word if len(word) < LONGEST else f"{word[:60]}...{word[-20:]}" for word in words)
    typer.echo(f"Error: {' '.join(shown)}", err=True)
    raise SystemExit(2)


app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=(
        "Bandits where playing one arm also shows you its neighbours.\n\n"
        "Start with `graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star`, which "
        "lays one decision open, or `graphbandits reproduce`, which draws the paper's figures."
    ),
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"graphbandits {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


for command in (reproduce, simulate, run, audit, check, inspect, graph, list_, compare, report):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(new, name="new")
app.add_typer(store, name="store")


def main() -> None:
    """Run the command of ``sys.argv``."""
    app()
