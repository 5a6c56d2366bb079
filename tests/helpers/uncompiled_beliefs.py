"""Beliefs of posteriors as plain Python computes them: run with ``NUMBA_DISABLE_JIT=1``.

Reads a JSON list of [setting, parameters] from standard input. Writes the file of the package that
was asked, and of each posterior alpha, Delta, h, v and rho, or the message with which it was
refused. Where compiled code divides by 0 and goes on (some parameters of 1e-3), plain Python stops.
"""

import json
import sys
import warnings

import numpy as np

import graphbandits.posteriors
from graphbandits.errors import NumericalError
from graphbandits.posteriors import BetaBernoulli


def answer(accuracy: str, params: list[list[float]]) -> dict[str, list[float]] | str:
    posterior = BetaBernoulli(*np.array(params, float).T, accuracy)
    try:
        found = posterior.beliefs(posterior.init(trials=1), variance=True)
    except NumericalError as error:
        return str(error)
    return {name: getattr(found, name)[0].tolist() for name in ("alpha", "delta", "h", "v", "rho")}


if __name__ == "__main__":
    # compiled code wraps around and underflows in silence; NumPy's scalars would complain
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    answers = [answer(*question) for question in json.load(sys.stdin)]
    json.dump({"package": graphbandits.posteriors.__file__, "answers": answers}, sys.stdout)
