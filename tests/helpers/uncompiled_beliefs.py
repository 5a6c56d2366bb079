"""Compute beliefs with the kernels as plain Python, and with a mutant applied.

Run with ``NUMBA_DISABLE_JIT=1``. Standard input is JSON with the module and the function of a
mutant or null, a flag that disables the check of sum(alpha), and a list of questions [family,
parameters, setting, other arguments]. Standard output is JSON with the file of the package and one
answer per question: alpha, Delta, h, v and rho, or the error message. For some parameters of 1e-3
compiled code divides by 0 and continues, whereas plain Python raises an error.
"""

import importlib
import json
import sys
import warnings
from typing import Any

import numba
import numpy as np

import graphbandits.posteriors
from graphbandits.errors import NumericalError
from graphbandits.posteriors import BetaBernoulli, Dirichlet
from helpers.accuracy_mutants import disable_check
from helpers.marginal_checks import posterior_of


def answer(family: str, params: Any, accuracy: str, more: dict[str, bool]) -> Any:
    posterior: Any
    if family == "beta":
        posterior = BetaBernoulli(*np.array(params, float).T)
        state = posterior.init(trials=1)
    elif family == "dirichlet":
        posterior = Dirichlet(np.array(params[1]), tuple(params[0]))
        state = posterior.init(trials=1)
    else:
        posterior, state = posterior_of(family, params)
    try:
        found = posterior.beliefs(state, accuracy=accuracy, variance=True, **more)
    except NumericalError as error:
        return str(error)
    return {name: getattr(found, name).tolist() for name in ("alpha", "delta", "h", "v", "rho")}


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT, "compiled kernels would not see the replacements"
    # compiled code wraps around and underflows in silence; NumPy's scalars would warn
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    given = json.load(sys.stdin)
    if given["mutant"] is not None:
        module, name = given["mutant"]
        getattr(importlib.import_module(module), name)()
    if given["unchecked"]:
        disable_check()
    answers = [answer(*question) for question in given["questions"]]
    json.dump({"package": graphbandits.posteriors.__file__, "answers": answers}, sys.stdout)
