"""Compute beliefs with the kernels as plain Python, and with a mutant applied.

Run with ``NUMBA_DISABLE_JIT=1``. Standard input is JSON with the name of a mutant or null, a flag
that disables the check of sum(alpha), and a list of questions [setting, parameters]. Standard
output is JSON with the file of the package and one answer per question: alpha, Delta, h, v and rho,
or the error message. For some parameters of 1e-3 compiled code divides by 0 and continues, whereas
plain Python raises an error.
"""

import json
import sys
import warnings

import numba
import numpy as np

import graphbandits.posteriors
from graphbandits.errors import NumericalError
from graphbandits.posteriors import BetaBernoulli
from helpers.accuracy_mutants import MUTANTS, disable_check


def answer(accuracy: str, params: list[list[float]]) -> dict[str, list[float]] | str:
    posterior = BetaBernoulli(*np.array(params, float).T, accuracy)
    try:
        found = posterior.beliefs(posterior.init(trials=1), variance=True)
    except NumericalError as error:
        return str(error)
    return {name: getattr(found, name)[0].tolist() for name in ("alpha", "delta", "h", "v", "rho")}


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT, "compiled kernels would not see the replacements"
    # compiled code wraps around and underflows in silence; NumPy's scalars would warn
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    given = json.load(sys.stdin)
    if given["mutant"] is not None:
        {mutant.name: mutant for mutant in MUTANTS}[given["mutant"]].apply()
    if given["unchecked"]:
        disable_check()
    answers = [answer(*question) for question in given["questions"]]
    json.dump({"package": graphbandits.posteriors.__file__, "answers": answers}, sys.stdout)
