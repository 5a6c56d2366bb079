"""``graphbandits inspect``: one decision laid open."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from graphbandits.cli.show import announce_compilation, plain_console, print_json
from graphbandits.errors import InputError
from graphbandits.graphs import Fixed, make_process
from graphbandits.policies.bayesian import Bayesian
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import registered
from graphbandits.rng import Keys
from graphbandits.theory import information_ratio


def run(betas: list[str], graph: str, as_json: bool) -> None:
    """Print the decision as a table or a JSON object."""
    parameters = [_pair(text) for text in betas]
    decision = lay_open(parameters, graph)
    if as_json:
        print_json(decision)
    else:
        _print_table(decision, parameters, graph)


def lay_open(parameters: list[tuple[float, float]], graph: str) -> dict[str, Any]:
    """Statistics, gains, plays and information ratios of one decision, as plain numbers.

    A graph that changes from round to round is taken as it is in round 1 of trial 0, seed 0.

    >>> round(lay_open([(1, 1), (1, 1)], "empty")["rho"], 12)
    0.666666666667
    """
    process = make_process(graph, len(parameters))
    if process.arms != len(parameters):
        raise InputError(
            f"the graph has {process.arms} arms, but {len(parameters)} posteriors were given: "
            "give --beta once for each arm"
        )
    a, b = np.array(parameters, np.float64).T
    posterior = BetaBernoulli(a, b)
    announce_compilation()
    beliefs = posterior.beliefs(posterior.init(trials=1))
    gain = process.round(1, Keys(seed=0)).gain(beliefs.h)
    plays = {
        name: policy.rule(beliefs.alpha, beliefs.delta, beliefs.h, gain)
        for name, policy in registered("policy").items()
        if issubclass(policy, Bayesian)
    }
    ratios = {name: information_ratio(pi, beliefs.delta, gain) for name, pi in plays.items()}
    return {
        "arms": list(process.names or (str(i + 1) for i in range(process.arms))),
        "alpha": beliefs.alpha[0].tolist(),
        "delta": beliefs.delta[0].tolist(),
        "h": beliefs.h[0].tolist(),
        "rho": float(beliefs.rho[0]),
        "gain": {"bound": gain[0].tolist(), "joint": None},
        "pi": {name: pi[0].tolist() for name, pi in plays.items()},
        "ratio": {name: float(ratio[0]) for name, ratio in ratios.items()},
    }


def _pair(text: str) -> tuple[float, float]:
    try:
        a, b = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--beta takes two numbers A,B such as 3,7 (successes and failures, the prior "
            f"counted in), not '{text}'"
        ) from None
    return a, b


def _print_table(
    decision: dict[str, Any], parameters: list[tuple[float, float]], graph: str
) -> None:
    console = plain_console()
    believed = _table("arm", "Beta(a, b)", "P(best)", "", "regret", "h", "G h", "")
    played = _table("arm", *decision["pi"])
    most = max(decision["gain"]["bound"]) or 1.0
    for i, (a, b) in enumerate(parameters):
        believed.add_row(
            decision["arms"][i],
            f"{a:g}, {b:g}",
            f"{decision['alpha'][i]:.4f}",
            _bar(decision["alpha"][i]),
            f"{decision['delta'][i]:.4f}",
            f"{decision['h'][i]:.3g}",
            f"{decision['gain']['bound'][i]:.3g}",
            _bar(decision["gain"]["bound"][i] / most),
        )
        played.add_row(decision["arms"][i], *(_play(pi[i]) for pi in decision["pi"].values()))
    played.add_section()
    ratios = ("none" if np.isnan(r) else f"{r:.4f}" for r in decision["ratio"].values())
    played.add_row("ratio", *ratios)
    console.print(f"Graph {graph}. The best arm's mean is expected at {decision['rho']:.4f}.")
    if not isinstance(make_process(graph, len(parameters)), Fixed):
        console.print("This graph changes: here it is as in round 1 of trial 0, seed 0.")
    console.print(believed)
    console.print(
        "regret: expected loss of playing the arm. h: information about the best arm\n"
        "in its own outcome, in nats. G h: in all that playing it shows.\n",
        style="dim",
    )
    console.print("Probability of each play; ratio is (expected regret)² / (expected information).")
    console.print(played)


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for column in columns:
        left = column in ("arm", "")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    return table


def _bar(share: float, width: int = 6) -> str:
    """A bar of eighths of a character.

    >>> _bar(0.5)
    '███   '
    """
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def _play(probability: float) -> str:
    return "." if probability == 0.0 else f"{probability:.4f} {_bar(probability, 5)}"
