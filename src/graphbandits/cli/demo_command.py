"""``graphbandits demo``: the decision service with a simulated crowd."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Annotated

from graphbandits.cli.formatting import print_line
from graphbandits.cli.options import flag, number
from graphbandits.cli.serve_command import check_installed

#: Printed at the end.
REMOVED = "the service has ended and its files are removed"


def demo(
    port: Annotated[
        int | None, number("Port of the service on this machine. Default: 8000, or the next one.")
    ] = None,
    no_browser: Annotated[bool, flag("--no-browser", "Do not open the browser.")] = False,
) -> None:
    """Show the decision service with a simulated crowd, until Ctrl-C.

    A shop offers a promotion to one person of a social network per second. Friends answer, late or
    never. All files are temporary.

    Example: graphbandits demo
    """
    check_installed()
    from graphbandits.engine._progress import announce_compilation
    from graphbandits.service.demo import run

    announce_compilation()
    stopped_by = run(port, browser=not no_browser, show=print_line)
    if stopped_by == signal.SIGINT:
        raise KeyboardInterrupt(REMOVED)
    with suppress(OSError):  # the terminal may be closed
        print_line(f"stopped; {REMOVED}.")
