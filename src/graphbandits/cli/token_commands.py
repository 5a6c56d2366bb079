"""``graphbandits token``: tokens of the decision service."""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import Annotated

import typer

from graphbandits.cli import options
from graphbandits.cli.formatting import plain_table, print_json, print_line, print_table
from graphbandits.cli.options import lifetime, option
from graphbandits.cli.serve_command import STORE_VARIABLE, Place
from graphbandits.errors import InputError

token = typer.Typer(
    no_args_is_help=True,
    help="Create and revoke the tokens with which clients use 'graphbandits serve'.",
)


@token.command()
def add(
    store: Place,
    role: Annotated[
        str,
        option(
            "ROLE",
            "What the token allows: read; decide (also decisions and outcomes); or admin (also "
            "new agents and changes of agents).",
        ),
    ],
    name: Annotated[
        str | None, option("TEXT", "Name for people. Default: the id of the token.")
    ] = None,
    expires: Annotated[
        float | None,
        lifetime("Time after which the token expires, such as 12h or 30d. Default: never."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Create a token and print it.

    Example: graphbandits token add campaign.db --role decide --name app --expires 30d
    """
    from graphbandits.live.store import open_store
    from graphbandits.service.tokens import add_token, has_tokens

    with open_store(store, must_exist=True) as found:
        first = not has_tokens(found)
        text, made = add_token(found, role, name=name, expires=expires)
    if json:
        print_json({"token": text, **made.to_dict(time.time())})
        return
    print_line(text)
    print_line(f"Copy the token '{made.name}' now: it is not shown again.")
    if first:
        print_line("It is the first of the store: a service now refuses requests without a token.")


@token.command("list")
def list_(store: Place, json: options.Json = False) -> None:
    """List the tokens of a store, without their secrets.

    Example: graphbandits token list campaign.db
    """
    from graphbandits.live.store import open_store
    from graphbandits.service.tokens import list_tokens

    with open_store(store, must_exist=True) as found:
        tokens = list_tokens(found)
    now = time.time()
    if json:
        print_json({"tokens": [one.to_dict(now) for one in tokens]})
        return
    table = plain_table("", ["id", "name", "role", "created", "expires", "state"])
    for one in tokens:
        times = _local(one.created), "never" if one.expires is None else _local(one.expires)
        table.add_row(one.id, one.name, one.role, *times, one.state(now))
    print_table(table)


def _local(seconds: float) -> str:
    """Format a time in the local time zone."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


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
    from graphbandits.service.tokens import revoke_token

    # an optional argument before a required one: a single argument is the id
    if id is None:
        store, id = os.environ.get(STORE_VARIABLE), store
    if not store or id is None:
        raise InputError(
            f"give the store and the id of a token, or the id, with {STORE_VARIABLE} set"
        )
    with open_store(store, must_exist=True) as found:
        made = revoke_token(found, id)
    print_line(f"Revoked the token '{made.name}'.")
