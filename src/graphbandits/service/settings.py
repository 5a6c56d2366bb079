"""Settings of the decision service, which its worker processes read from the environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from graphbandits.service.limits import is_loopback

#: Environment variable with the settings, as JSON. It is not visible to other users.
VARIABLE = "GRAPHBANDITS_SERVICE"


@dataclass(frozen=True)
class Settings:
    """Settings of the decision service.

    Parameters
    ----------
    store : str
        File of SQLite, or address of a PostgreSQL database.
    host : str, default="127.0.0.1"
        Address to listen on.
    port : int, default=8000
        Port to listen on.
    workers : int, default=1
        Number of processes.
    plugins : tuple of str, default=()
        Python files with plug-ins.
    body_bytes : int, default=2**20
        Largest body of a request.
    body_seconds : float, default=10.0
        Time in which the body of a request must arrive.
    batch : int, default=1000
        Most decisions of one request.
    rate : float, default=1000.0
        Requests per second of one client, in each process; 0 for no limit.
    connections : int, default=1000
        Connections at the same time, in each process.
    """

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    plugins: tuple[str, ...] = ()
    body_bytes: int = 2**20
    body_seconds: float = 10.0
    batch: int = 1000
    rate: float = 1000.0
    connections: int = 1000

    @property
    def local(self) -> bool:
        """Whether only this machine can connect. Otherwise tokens are required."""
        return is_loopback(self.host)

    def to_json(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings that the parent process has put into the environment."""
        given = json.loads(os.environ[VARIABLE])
        return cls(**given | {"plugins": tuple(given["plugins"])})
