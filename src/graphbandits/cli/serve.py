"""``graphbandits serve``, ``token`` and ``demo``."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import Annotated

import typer

from graphbandits.cli import _ui
from graphbandits.errors import InputError

#: Environment variable with the address of the store. It may contain a password.
STORE_VARIABLE = "GRAPHBANDITS_STORE"

Place = Annotated[str, typer.Argument(help=_ui.STORE_HELP, metavar="STORE", envvar=STORE_VARIABLE)]


def check_installed() -> None:
    if not all(find_spec(name) for name in ("fastapi", "httpx", "uvicorn")):
        raise InputError(
            "the service needs FastAPI, uvicorn and httpx: python -m pip install "
            '"graphbandits[serve]"'
        )


def serve(
    store: Place,
    host: Annotated[
        str,
        _ui.option("ADDRESS", "Address to listen on. Others than 127.0.0.1 and ::1 need tokens."),
    ] = "127.0.0.1",
    port: Annotated[int, _ui.number("Port to listen on.")] = 8000,
    workers: Annotated[
        int, _ui.number("Number of processes. With two or more, one that dies is replaced.")
    ] = 1,
    rate: Annotated[
        float,
        _ui.option("N", "Most requests per second of one client, in each process. 0: no limit."),
    ] = 1000.0,
    connections: Annotated[int, _ui.number("Most connections at a time, in each process.")] = 1000,
    body: Annotated[int, _ui.number("Largest body of a request, in bytes.")] = 2**20,
    access_log: Annotated[
        bool, _ui.flag("--access-log", "Write a line for each request to standard error.")
    ] = False,
    plugin: _ui.Plugin = None,
) -> None:
    """Serve the agents of a store over HTTP, with a dashboard.

    Example: graphbandits serve campaign.db
    """
    check_installed()
    from graphbandits.service.server import Settings, check_settings
    from graphbandits.service.server import serve as run

    _ui.prepare(plugin)
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
    shown = f"[{host}]" if ":" in host else host
    _ui.print_line(f"Serving the agents of {place} at http://{shown}:{port} (Ctrl-C stops it).")
    _ui.print_line(f"Dashboard: http://{shown}:{port}/   API: http://{shown}:{port}/openapi.json")
    run(settings, access_log=access_log)


token = typer.Typer(
    no_args_is_help=True,
    help="Create and revoke the tokens with which clients use 'graphbandits serve'.",
)


@token.command()
def add(
    store: Place,
    role: Annotated[
        str, _ui.option("ROLE", "What it allows: read, decide, or admin (also changes of agents).")
    ],
    name: Annotated[
        str | None, _ui.option("TEXT", "Name for people. Default: the id of the token.")
    ] = None,
    expires: Annotated[
        float | None,
        _ui.lifetime("Time after which the token expires, such as 12h or 30d. Default: never."),
    ] = None,
    json: _ui.Json = False,
) -> None:
    """Create a token and print it.

    Example: graphbandits token add campaign.db --role decide --name app --expires 30d
    """
    from graphbandits.live.store import open_store
    from graphbandits.service.access import add_token, list_tokens

    with open_store(store, must_exist=True) as found:
        first = not list_tokens(found)
        text, made = add_token(found, role, name=name, expires=expires)
    if json:
        _ui.print_json({"token": text, **made.to_dict(time.time())})
        return
    _ui.print_line(text)
    _ui.print_line(f"Copy the token '{made.name}' now: it is not shown again.")
    if first:
        _ui.print_line(
            "It is the first of the store: a service now refuses requests without a token."
        )


@token.command("list")
def list_(store: Place, json: _ui.Json = False) -> None:
    """List the tokens of a store, without their secrets.

    Example: graphbandits token list campaign.db
    """
    from graphbandits.live.store import open_store
    from graphbandits.service.access import list_tokens

    with open_store(store, must_exist=True) as found:
        tokens = list_tokens(found)
    now = time.time()
    if json:
        _ui.print_json({"tokens": [one.to_dict(now) for one in tokens]})
        return
    records = []
    for one in tokens:
        created = _ui.local_time(one.created)
        expires = "never" if one.expires is None else _ui.local_time(one.expires)
        record = {"id": one.id, "name": one.name, "role": one.role, "created": created}
        records.append(record | {"expires": expires, "state": one.state(now)})
    _ui.print_records("", records)


@token.command()
def revoke(
    store: Annotated[
        str | None,
        typer.Argument(
            help="The store, as for 'graphbandits token add'.",
            metavar="STORE",
            show_default=f"the variable {STORE_VARIABLE}",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Argument(help="Id of the token, or the token.", metavar="ID", show_default=False),
    ] = None,
) -> None:
    """Revoke a token. A service refuses it after two seconds.

    Example: graphbandits token revoke campaign.db 1a2b3c4d
    """
    from graphbandits.live.store import open_store
    from graphbandits.service.access import revoke_token

    # an optional argument before a required one: a single argument is the id
    if id is None:
        store, id = os.environ.get(STORE_VARIABLE), store
    if not store or id is None:
        raise InputError(
            f"give the store and the id of a token, or the id, with {STORE_VARIABLE} set"
        )
    with open_store(store, must_exist=True) as found:
        made = revoke_token(found, id)
    _ui.print_line(f"Revoked the token '{made.name}'.")


#: Printed at the end.
REMOVED = "the service has ended and its files are removed"


def demo(
    port: Annotated[
        int | None,
        _ui.number("Port of the service on this machine. Default: 8000, or the next one."),
    ] = None,
    no_browser: Annotated[bool, _ui.flag("--no-browser", "Do not open the browser.")] = False,
) -> None:
    """Show the decision service with a simulated crowd, until Ctrl-C.

    A shop offers a promotion to one person of a social network per second. Friends answer, late or
    never. All files are temporary.

    Example: graphbandits demo
    """
    check_installed()
    from graphbandits.service.demo import run

    _ui.prepare()
    stopped_by = run(port, browser=not no_browser, show=_ui.print_line)
    if stopped_by == signal.SIGINT:
        raise KeyboardInterrupt(REMOVED)
    with suppress(OSError):  # the terminal may be closed
        _ui.print_line(f"stopped; {REMOVED}.")
