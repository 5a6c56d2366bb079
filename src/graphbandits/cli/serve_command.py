"""``graphbandits serve``: agents over HTTP, with a dashboard."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from graphbandits.cli import options
from graphbandits.cli.formatting import print_line
from graphbandits.cli.options import flag, load, number, option
from graphbandits.errors import InputError

#: Environment variable with the address of the store. It may contain a password.
STORE_VARIABLE = "GRAPHBANDITS_STORE"
#: Largest number of connections of a process.
MOST_CONNECTIONS = 1_000_000

Place = Annotated[
    str,
    typer.Argument(
        help="File of SQLite, such as campaign.db, or address of a PostgreSQL database, such as "
        "postgresql://user@host/database.",
        metavar="STORE",
        envvar=STORE_VARIABLE,
    ),
]


def check_installed() -> None:
    """Raise InputError if the extra ``serve`` is not installed."""
    if not all(find_spec(name) for name in ("fastapi", "httpx", "uvicorn")):
        raise InputError(
            "the service needs FastAPI, uvicorn and httpx: python -m pip install "
            '"graphbandits[serve]"'
        )


def serve(
    store: Place,
    host: Annotated[
        str,
        option("ADDRESS", "Address to listen on. Others than 127.0.0.1 and ::1 need tokens."),
    ] = "127.0.0.1",
    port: Annotated[int, number("Port to listen on.")] = 8000,
    workers: Annotated[
        int, number("Number of processes. With two or more, one that dies is replaced.")
    ] = 1,
    rate: Annotated[
        float,
        option("N", "Most requests per second of one client, in each process. 0: no limit."),
    ] = 1000.0,
    connections: Annotated[int, number("Most connections at a time, in each process.")] = 1000,
    body: Annotated[int, number("Largest body of a request, in bytes.")] = 2**20,
    access_log: Annotated[
        bool, flag("--access-log", "Write a line for each request to standard error.")
    ] = False,
    plugin: options.Plugin = None,
) -> None:
    """Serve the agents of a store over HTTP, with a dashboard.

    Example: graphbandits serve campaign.db
    """
    check_installed()
    from graphbandits.engine._progress import announce_compilation
    from graphbandits.live.requests import MOST_BYTES
    from graphbandits.service.server import check_settings
    from graphbandits.service.server import serve as run
    from graphbandits.service.settings import Settings

    for name, value, most in (
        ("--connections", connections, MOST_CONNECTIONS),
        ("--body", body, MOST_BYTES),
    ):
        if not 1 <= value <= most:
            raise InputError(f"{name} must be 1 to {most}, not {value}")
    load(plugin)
    settings = Settings(
        store,
        host,
        port,
        workers,
        tuple(map(str, plugin or ())),
        body_bytes=body,
        rate=rate,
        connections=connections,
    )
    place = check_settings(settings)
    announce_compilation()
    shown = f"[{host}]" if ":" in host else host
    print_line(f"Serving the agents of {place} at http://{shown}:{port} (Ctrl-C stops it).")
    print_line(f"Dashboard: http://{shown}:{port}/   API: http://{shown}:{port}/openapi.json")
    run(settings, access_log=access_log)
