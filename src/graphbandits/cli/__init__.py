"""The ``graphbandits`` command. Only typer and rich are imported until a command runs."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphbandits import __version__
from graphbandits.cli import agent, inspect, plugins, serve, simulate, study
from graphbandits.errors import GraphBanditsError, InputWarning

__all__ = ["app", "main"]

#: Longest word (such as a path) that an error message shows in full.
LONGEST_WORD = 500


class OneLineErrorGroup(TyperGroup):
    """Command group that prints errors in one line, without a traceback, with exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # print '?' for a character that cannot be encoded
                stream.reconfigure(errors="replace")
        standalone = options.get("standalone_mode", True)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                code = super().main(*args, **(options | {"standalone_mode": False}))
        except GraphBanditsError as error:
            _fail(str(error))
        except Exception as error:
            # errors of typer about options and arguments
            if not hasattr(error, "format_message"):
                raise
            message = error.format_message()
            if not message:  # no command was given; typer has printed the help
                raise SystemExit(0) from None
            _fail(message)
        if standalone:
            raise SystemExit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            state = str(stop) or "unfinished work was not written"
            typer.echo(f"stopped; {state}.", err=True)
            raise SystemExit(130) from None


def _show_warning(
    message: Warning | str, category: type[Warning], *location: Any, **options: Any
) -> None:
    """Print an InputWarning in one line, and any other warning in the format of Python."""
    if issubclass(category, InputWarning):
        typer.echo("Warning: " + " ".join(str(message).split()), err=True)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, *location[:2]))


def _fail(message: str) -> None:
    # control characters could change the terminal; a very long word would hide the message
    words = (ascii(word)[1:-1] if not word.isprintable() else word for word in message.split())
    shown = (word if len(word) < LONGEST_WORD else f"{word[:60]}...{word[-20:]}" for word in words)
    typer.echo(f"Error: {' '.join(shown)}", err=True)
    raise SystemExit(2)


app = typer.Typer(
    cls=OneLineErrorGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=(
        "Bandits with graph feedback: playing an arm also reveals outcomes of its neighbours.\n\n"
        "To start, analyse a single decision with "
        "`graphbandits inspect --beta 1,2 --beta 4,4 --beta 12,9 --graph star`, or reproduce the "
        "figures of the paper with `graphbandits reproduce`."
    ),
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"graphbandits {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


for command in (
    *(simulate.reproduce, simulate.simulate, simulate.recommend, simulate.run),
    *(plugins.audit, plugins.check, inspect.inspect, inspect.graph, plugins.list_, study.report),
    *(agent.evaluate, plugins.precompile, serve.serve, serve.demo),
):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(agent.agent, name="agent")
app.add_typer(plugins.new, name="new")
app.add_typer(study.store, name="store")
app.add_typer(serve.token, name="token")


def main() -> None:
    app()
