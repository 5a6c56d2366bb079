"""A bare route of FastAPI: the floor of a request to the decision service, without its work.

``python benchmarks/bare_route.py PORT WORKERS`` runs it with the settings of the service.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphbandits.service.server import GRACE, KEEP_ALIVE
from graphbandits.service.settings import Settings

#: An answer of the size of a decision.
ANSWER = {
    "decisions": [
        {
            "id": "1000-0123456789ab",
            "arm": 1,
            "probability": 0.123456789,
            "reveals": {"0": 1.0, "1": 1.0, "2": 1.0},
            "time": "2026-01-01T00:00:00.123456+00:00",
        }
    ]
}


class Protocol(H11Protocol):
    """Sends small parts of an answer at once.

    With several workers, uvicorn 0.54 does not set this option, and each answer takes 40 ms
    (https://github.com/Kludex/uvicorn/issues/3149).
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)


def create_app() -> FastAPI:
    app = FastAPI()

    @app.post("/")
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return ANSWER

    return app


if __name__ == "__main__":
    uvicorn.run(
        "bare_route:create_app",
        factory=True,
        http="bare_route:Protocol",
        host="127.0.0.1",
        port=int(sys.argv[1]),
        workers=int(sys.argv[2]),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        limit_concurrency=Settings("").connections,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        proxy_headers=False,
    )
