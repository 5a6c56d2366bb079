"""A server of PostgreSQL for the tests, in a temporary directory and without a network port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import pytest

#: The password has characters that an address must escape.
USER, PASSWORD = "tester", "s3cret/@:word"
#: Runs the server until the standard input ends: with the tests, even if they are killed. SIGQUIT
#: ends it as a crash does, which is fast: the next start recovers.
_RUN = '"$@" & server=$!; read -r _; kill -QUIT $server; wait $server'


def absent(reason: str) -> NoReturn:
    """Skip the test, or fail if the environment requires PostgreSQL (continuous integration)."""
    if os.environ.get("GRAPHBANDITS_REQUIRE_POSTGRES"):
        pytest.fail(f"GRAPHBANDITS_REQUIRE_POSTGRES is set, but {reason}")
    pytest.skip(reason)


def _program(name: str) -> str | None:
    """Return the path of a program of the server; Debian has them outside of the search path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


class PostgresServer:
    """A server with its own data; ``new_address`` gives each test an empty schema."""

    def __init__(self) -> None:
        if not find_spec("psycopg"):
            absent("psycopg is not installed")
        initdb, server = _program("initdb"), _program("postgres")
        if not initdb or not server:
            absent("PostgreSQL is not installed")
        self._server = server
        self._schemas = 0
        self._process: subprocess.Popen[bytes] | None = None
        # the path of a socket has at most 107 bytes
        self.directory = Path(tempfile.mkdtemp(prefix="gb-pg-", dir="/tmp"))
        self._account = self._own(self.directory)
        password = self.directory / "password"
        password.write_text(PASSWORD)
        command = [initdb, "-D", str(self.directory / "data"), "-U", USER, "--encoding=UTF8"]
        command += ["--auth=scram-sha-256", f"--pwfile={password}", "--no-locale"]
        password.chmod(0o644)
        done = subprocess.run(command, capture_output=True, text=True, **self._account)
        if done.returncode:
            self.remove()
            absent(f"initdb failed: {done.stderr.strip()}")
        self.start()

    @staticmethod
    def _own(directory: Path) -> dict[str, Any]:
        """Return arguments of subprocess for an account that may run the server: not root."""
        if os.geteuid():
            return {"cwd": directory}
        names = {one.pw_name for one in pwd.getpwall()}
        name = next(one for one in ("postgres", "nobody") if one in names)
        account = pwd.getpwnam(name)
        os.chown(directory, account.pw_uid, account.pw_gid)
        directory.chmod(0o755)
        ids = {"user": account.pw_uid, "group": account.pw_gid}
        return {"cwd": directory, "extra_groups": [], **ids}

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [self._server, "-D", str(self.directory / "data"), "-k", str(self.directory)]
        command += ["-c", "listen_addresses=", "-c", "max_connections=30"]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", _RUN, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C ends the tests first
                **self._account,
            )
        ready = self.directory / "data" / "postmaster.pid"
        for _ in range(600):
            with suppress(FileNotFoundError):
                if "ready" in ready.read_text():
                    return
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
                break
        log_text = (self.directory / "log").read_text()
        self.remove()
        pytest.fail(f"PostgreSQL does not start: {log_text[-500:]}")

    def stop(self) -> None:
        """Stop the server, and end its connections."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            self._process.wait(60)
        self._process = None

    def remove(self) -> None:
        """Stop the server and remove its data."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def address(self, password: str = PASSWORD, database: str = "postgres") -> str:
        """Return the address of a database of the server."""
        host = quote(str(self.directory), safe="")
        return f"postgresql://{USER}:{quote(password, safe='')}@{host}/{database}"

    def new_address(self) -> str:
        """Return the address of a new, empty schema: a database of its own takes longer."""
        self._schemas += 1
        self.execute(f"CREATE SCHEMA test{self._schemas}")
        return f"{self.address()}?options=-csearch_path%3Dtest{self._schemas}"

    def execute(self, sql: str) -> list[Any]:
        """Execute a statement as another client; return the rows of a query."""
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []
