"""Environments of the peers, one for each, with pinned versions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: A package index that does not answer must not stop the run for long.
PIP = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")
PATIENCE = ("--retries", "1", "--timeout", "30")
LONGEST = 900.0
#: Parts of what pip says if it cannot reach an index.
UNREACHABLE = ("NewConnectionError", "ConnectTimeoutError", "ProxyError", "Connection refused")
NUMPY = "numpy==2.4.6"

#: Versions of the peers, and of what they need to run.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "vowpalwabbit": ("vowpalwabbit==9.11.9", NUMPY),
    "bayesianbandits": ("bayesianbandits==1.5.0", "scikit-learn==1.9.1", "scipy==1.17.1", NUMPY),
    "mabwiser": ("mabwiser==2.7.4", "pandas==3.1.1", "scikit-learn==1.9.1", NUMPY),
    "river": ("river==0.26.1", "scipy==1.17.1", NUMPY),
    # Its last release uses numpy.int and scipy.special.btdtri, which later versions do not have.
    "smpybandits": (
        "SMPyBandits==0.9.7",
        "numpy==1.23.5",
        "scipy==1.10.1",
        "pandas==1.5.3",
        "matplotlib==3.7.5",
        "scikit-learn==1.2.2",
        "scikit-optimize==0.9.0",
    ),
}


@dataclass(frozen=True)
class Environment:
    """A Python with a peer, or the reason why there is none."""

    python: Path | None
    reason: str = ""


def prepare(peer: str, folder: Path) -> Environment:
    """Create the environment of a peer, unless it is there with the same versions."""
    own, wanted = folder / peer, json.dumps(REQUIREMENTS[peer])
    python, stamp = own / "bin" / "python", own / "installed.json"
    if stamp.exists() and stamp.read_text() == wanted:
        return Environment(python)
    shutil.rmtree(own, ignore_errors=True)
    steps = (
        (sys.executable, "-m", "venv", str(own)),
        (str(python), *PIP, *PATIENCE, "--only-binary", ":all:", *REQUIREMENTS[peer]),
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return Environment(None, f"the installation took more than {LONGEST:.0f} seconds")
        except OSError as error:
            return Environment(None, f"cannot create the environment: {error}")
        if done.returncode:
            return Environment(None, reason_of(done.stdout + done.stderr))
    stamp.write_text(wanted)
    return Environment(python)


def reason_of(output: str) -> str:
    """Why an installation failed, in one line.

    >>> reason_of("WARNING: x: NewConnectionError(...)\\nERROR: No matching distribution")
    'the package index cannot be reached'
    >>> reason_of("noise\\nERROR: No matching distribution found for nothing==1")
    'No matching distribution found for nothing==1'
    """
    if any(part in output for part in UNREACHABLE):
        return "the package index cannot be reached"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return ([*lines[-1:], *errors] or ["pip failed without a message"])[-1][:200]


def versions(python: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Versions of Python and of distributions in an environment."""
    code = (
        "import importlib.metadata as m, json, platform, sys; "
        "print(json.dumps({'python': platform.python_version(), "
        "**{n: m.version(n) for n in sys.argv[1:]}}))"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found
