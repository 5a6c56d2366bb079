"""The contract of a policy."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits.agent import Agent
from graphbandits.engine import simulate
from graphbandits.errors import NeedsError
from graphbandits.graphs import from_matrix
from graphbandits.plugins import file_of
from graphbandits.policies import Needs, Policy, as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import name_of, text_of
from graphbandits.rng import Keys, Stream
from graphbandits.testing.contract import Violation, check, check_form
from graphbandits.testing.histories import Script, long_run, rehearse
from graphbandits.testing.scenes import (
    Watched,
    degenerate_scenes,
    directed_weights,
    lopsided_prior,
    ordinary_scenes,
    relabelled,
    same_bits,
    without,
)
from graphbandits.types import Floats, State
from graphbandits.worlds import Bernoulli


@check("policy", "form")
def form(policy: Policy) -> None:
    """A documented, enrolled class that says what it needs and comes back from its text form."""
    check_form("policy", policy)
    needs = policy.needs
    if not isinstance(needs, Needs) or needs.graph not in ("never", "after", "before"):
        raise Violation(f"needs is {needs!r}: write needs: ClassVar[Needs] = Needs(...)")
    if not isinstance(policy.exact, bool):
        raise Violation(f"exact is {policy.exact!r}: True if propose returns a distribution")
    text = text_of(policy)
    if as_policy(text) != policy:
        raise Violation(f"its text form '{text}' gives {as_policy(text)!r}, not {policy!r}")


@check("policy", "state")
def state_is_plain_arrays(policy: Policy) -> None:
    """The state is a dict of named arrays of numbers, each with one row a trial."""

    def look(state: State, *rest: object) -> None:
        for name, value in state.items():
            where = f"state['{name}']"
            if not isinstance(name, str) or not isinstance(value, np.ndarray):
                raise Violation(f"{where} is {type(value).__name__}: keep NumPy arrays only")
            if value.dtype.kind not in "biuf":
                raise Violation(f"{where} holds {value.dtype}: keep numbers only")
            if value.shape[:1] != (3,):
                raise Violation(f"{where} has the shape {value.shape}: its first axis is the trial")

    for scene in ordinary_scenes(policy):
        scene.run(Watched(policy, look=look), Keys(11, 1, 3))


@check("policy", "simplex")
def simplex(policy: Policy) -> None:
    """What it proposes is a distribution over the arms for each trial."""
    for scene in ordinary_scenes(policy):
        watched = Watched(policy)
        scene.run(watched, Keys(12, 1, 3))
        for t, pi in enumerate(watched.pis, 1):
            _check_pi(pi, (3, scene.process.arms), f"{scene.name}, round {t}")


@check("policy", "propose-leaves-state")
def propose_leaves_the_state(policy: Policy) -> None:
    """propose changes nothing: not the state, and not its own answer when it is asked again."""

    def look(state: State, view: Any, pi: Floats) -> None:
        before = {name: np.array(value) for name, value in state.items()}
        again = policy.propose(state, view)
        if state.keys() != before.keys():
            raise Violation("propose added or removed arrays of the state: do that in update")
        for name, value in before.items():
            if not same_bits(value, state[name]):
                raise Violation(f"propose wrote into state['{name}']: only update may")
        if not same_bits(np.asarray(pi), np.asarray(again)):
            raise Violation(
                f"asked twice in round {view.t}, it proposed two things: it remembers something "
                "outside its state, or draws without view.random"
            )

    def first_look(state: State, view: Any, pi: Floats) -> None:
        if view.t == 1 and not same_states(state, policy.init(view.problem, view.keys)):
            raise Violation("propose wrote into the state of round 1: only update may")
        look(state, view, pi)

    for scene in ordinary_scenes(policy):
        scene.run(Watched(policy, look=first_look), Keys(13, 1, 3))


@check("policy", "declared-needs")
def declared_needs(policy: Policy) -> None:
    """It looks at nothing that it has not declared in needs: not the graph, not the horizon."""
    graph = _Forbidden("the graph before its decision", "Needs(graph='before')")
    later = _Forbidden("the graph", "Needs(graph='after')")
    horizon = _Forbidden("the horizon", "Needs(horizon=True)")

    def cover(problem: Any) -> Any:
        return problem if policy.needs.horizon else replace(problem, _horizon=horizon)

    def show_view(view: Any) -> Any:
        view = replace(view, problem=cover(view.problem))
        return view if policy.needs.graph == "before" else without(view, graph)

    def show_event(event: Any) -> Any:
        event = replace(event, problem=cover(event.problem))
        return without(event, later) if policy.needs.graph == "never" else event

    for scene in ordinary_scenes(policy):
        watched = Watched(policy, show_problem=cover, show_view=show_view, show_event=show_event)
        try:
            scene.run(watched, Keys(14, 1, 2))
        finally:
            for forbidden in (graph, later, horizon):
                forbidden.complain()


@check("policy", "own-randomness")
def own_randomness(policy: Policy) -> None:
    """It draws from view.random and event.random only, and leaves the global generators alone."""
    for scene in ordinary_scenes(policy):
        runs = []
        for _ in range(2):  # the second with other global numbers ahead, if it drew from them
            before = _global_random_state()
            watched = Watched(policy)
            scene.run(watched, Keys(15, 1, 2))
            if _global_random_state() != before:
                raise Violation("it drew from the global random numbers: use view.random(purpose)")
            runs.append(watched)
        for t, (one, two) in enumerate(zip(runs[0].pis, runs[1].pis, strict=True), 1):
            if not same_bits(one, two):
                raise Violation(
                    f"{scene.name}: two runs with the same keys parted in round {t}: it has a "
                    "generator or a memory of its own; use view.random(purpose)"
                )


@check("policy", "batch")
def batch_equals_one_by_one(policy: Policy) -> None:
    """Trials do not see each other: a block gives each the bits that it has alone."""
    for scene in ordinary_scenes(policy):
        block = Watched(policy)
        scene.run(block, Keys(16, 3, 5))
        for trial in range(5):
            alone = Watched(policy)
            scene.run(alone, Keys(16, 3 + trial, 1))
            for t, (many, one) in enumerate(zip(block.pis, alone.pis, strict=True), 1):
                if not same_bits(many[trial], one[0]):
                    raise Violation(
                        f"{scene.name}, round {t}: in a block of 5 trials it proposed "
                        f"{_show(many[trial])}, for the same trial alone {_show(one[0])}"
                    )


@check("policy", "block-workers-order")
def same_however_it_runs(policy: Policy) -> None:
    """Regret is the same, bit for bit, for any block size, number of workers and order."""
    other = as_policy("ts-n-sampled" if name_of(policy) == "ts-n" else "ts-n")
    name = text_of(policy)
    ways: dict[str, dict[str, Any]] = {
        "one block": {},
        "blocks of 1": {"block": 1},
        "blocks of 3 on 2 threads": {"block": 3, "workers": 2, "parallel": "threads"},
        "after another policy": {"policies": [other, policy]},
        "before another policy": {"policies": [policy, other], "block": 4},
    }
    if file_of(policy) is not None:
        ways["blocks of 5 on 2 processes"] = {"block": 5, "workers": 2, "parallel": "processes"}
    for scene in ordinary_scenes(policy)[:3]:
        first: Floats | None = None
        for way, how in ways.items():
            given: dict[str, Any] = {"policies": [policy], "block": 100, "seed": 17} | how
            world = Bernoulli(scene.prior)
            result = simulate(
                **given, world=world, graph=scene.process, horizon=25, trials=10, progress=False
            )
            final = result[name].final
            if first is None:
                first = final
            elif not same_bits(first, final):
                raise Violation(f"{scene.name}: another regret with {way} than in one block")
        ways.pop("blocks of 5 on 2 processes", None)  # once is enough: they take long to start


@check("policy", "relabelling")
def relabelling(policy: Policy) -> None:
    """Calling the arms by other numbers moves what it proposes along (ties excluded)."""
    weights = directed_weights()
    matrix = np.where(weights > 0.5, 1.0, 0.0) if policy.needs.deterministic else weights
    process, prior = from_matrix(matrix), lopsided_prior(4)
    place = np.array([2, 0, 3, 1])
    trials = 12 if policy.exact else 3000
    script = Script.of(matrix, trials=trials, rounds=60, alike=not policy.exact)
    here = rehearse(policy, script, process, prior)
    there = rehearse(
        policy, script.relabelled(place), relabelled(process, place), _moved(prior, place)
    )
    if policy.exact:
        for t, (one, two, tied) in enumerate(zip(here, there, script.ties(), strict=True), 1):
            off = np.abs(one - two[:, place])[~tied]
            if off.size and off.max() > 1e-9:
                trial = np.flatnonzero(~tied)[off.max(axis=1).argmax()]
                raise Violation(
                    f"round {t}: it proposed {_show(one[trial])}, and with the arms renumbered "
                    f"{_show(two[trial][place])}; does it treat an arm by its number?"
                )
        return
    for t, (one, two) in enumerate(zip(here, there, strict=True), 1):
        shares, others = one.mean(axis=0), two.mean(axis=0)[place]
        error = np.sqrt((shares * (1 - shares) + others * (1 - others)) / trials)
        if (np.abs(shares - others) > 5.5 * error).any():
            raise Violation(
                f"round {t}: over {trials} trials it played {_show(shares)}, and with the arms "
                f"renumbered {_show(others)}; does it treat an arm by its number?"
            )


@check("policy", "save-load")
def saved_and_loaded(policy: Policy) -> None:
    """An agent that was saved, with decisions open, goes on bit for bit after it is loaded."""
    arms = ["ann", "bob lee", "Zoë", "joe"]
    prior = lopsided_prior(4)
    agent = Agent(policy, arms, "path(directed=true)", seed=18, horizon=60, prior=prior, trial=3)
    rewards = Stream(Keys(18, 0, 60), 1, "testing/save").uniform(4) < 0.6

    def go_on(one: Agent, rounds: range) -> list[Floats]:
        pis = []
        for t in rounds:
            decision = one.decide()
            pis.append(np.array(list(decision.pi.values())))
            if t % 3:  # every third decision stays open
                seen = {arm: int(rewards[t, arms.index(str(arm))]) for arm in decision.reveals}
                one.observe(decision, seen)
        return pis

    go_on(agent, range(20))
    with tempfile.TemporaryDirectory() as folder:
        copy = Agent.load(agent.save(Path(folder, "agent.npz")))
    for t in agent.pending[:2]:
        for one in (agent, copy):
            one.observe(t, {})
    for t, (mine, its) in enumerate(
        zip(go_on(agent, range(20, 40)), go_on(copy, range(20, 40)), strict=True), 21
    ):
        if not same_bits(mine, its):
            raise Violation(
                f"saved after round 20, it proposed {_show(its)} in round {t} and not "
                f"{_show(mine)}: it remembers something outside its state"
            )


@check("policy", "degenerate")
def degenerate(policy: Policy) -> None:
    """It plays on with one arm, two, equal arms, no edges, all edges, r of 0 and 1."""
    for scene in degenerate_scenes(policy):
        watched = Watched(policy)
        with np.errstate(all="ignore"):
            scene.run(watched, Keys(19, 1, 3))
        for t, pi in enumerate(watched.pis, 1):
            _check_pi(pi, (3, scene.process.arms), f"{scene.name}, round {t}")


@check("policy", "refused-in-time")
def refused_in_time(policy: Policy) -> None:
    """What it needs and is not told is refused beforehand, and what it has not declared it can do.

    A problem that cannot meet the needs is refused with a hint; all others are played.
    """
    problems: dict[str, Any] = {
        "random(r=0.35)": {"graph": "random(r=0.35)", "arms": 6, "horizon": 30},
        "an unknown horizon": {"graph": "star(direction=out)", "arms": 4},
    }
    for problem, given in problems.items():
        met = not (policy.needs.deterministic if "random" in problem else policy.needs.horizon)
        try:
            agent = Agent(policy, seed=20, **given)
            for _ in range(30):
                decision = agent.decide()
                agent.observe(decision, dict.fromkeys(list(decision.reveals)[:2], 1))
        except NeedsError as error:
            if met or "policies that would do" not in str(error):
                raise
            continue
        except Exception as error:
            raise Violation(
                f"with {problem} it failed ({error}): declare in needs what it cannot do without, "
                "and the problem is refused before it starts"
            ) from error
        if not met:
            raise Violation(f"its needs are not met by {problem}, and it was not refused")


@check("policy", "long-run")
def finite_after_a_long_run(policy: Policy) -> None:
    """After 100,000 rounds it still proposes a distribution, and its state is finite."""
    state, pi = long_run(policy, rounds=100_000)
    _check_pi(pi, (2, 3), "round 100000")
    for name, value in state.items():
        if not np.isfinite(np.asarray(value, np.float64)).all():
            raise Violation(f"state['{name}'] is no longer finite after 100,000 rounds")


@check("policy", "beats-uniform")
def beats_uniform(policy: Policy) -> None:
    """With one arm far better than the others it loses less than playing at random."""
    means = np.array([0.1, 0.2, 0.9, 0.15])
    world = Bernoulli(BetaBernoulli.of(4), fixed=means)
    horizon, trials = 400, 40
    result = simulate(
        policy,
        world,
        "ring(directed=true)",
        horizon=horizon,
        trials=trials,
        seed=21,
        progress=False,
    )[text_of(policy)]
    at_random = horizon * (means.max() - means.mean())
    if not result.mean[-1] + 4 * result.standard_error[-1] < at_random:
        raise Violation(
            f"on arms with the means {_show(means)} it lost {result.mean[-1]:.1f} in {horizon} "
            f"rounds; playing at random loses {at_random:.1f}"
        )


def _check_pi(pi: object, shape: tuple[int, int], where: str) -> None:
    array = np.asarray(pi)
    if array.shape != shape or array.dtype.kind != "f":
        raise Violation(
            f"{where}: it proposed {array.dtype} of shape {array.shape}; pi is floats of shape "
            f"{shape}, one row a trial and one column an arm"
        )
    off = np.abs(array.sum(axis=1) - 1.0)
    if not np.isfinite(array).all() or (array < 0.0).any() or not (off < 1e-9).all():
        row = array[np.argmax(np.where(np.isfinite(off), off, np.inf))]
        raise Violation(f"{where}: {_show(row)} is no distribution")


class _Forbidden:
    """Stands for what a policy has not declared; notices when it is touched."""

    def __init__(self, what: str, declare: str) -> None:
        self.__dict__.update(_what=what, _declare=declare, _touched=False)

    def complain(self) -> None:
        if self.__dict__["_touched"]:
            what, declare = self.__dict__["_what"], self.__dict__["_declare"]
            raise Violation(f"it looked at {what} without saying so: declare {declare}")

    def _touch(self, *args: object) -> Any:
        self.__dict__["_touched"] = True
        raise NeedsError("this was not declared")

    __getattr__ = __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = _touch
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _touch
    __rtruediv__ = __pow__ = __lt__ = __le__ = __gt__ = __ge__ = _touch


def _global_random_state() -> object:
    state: Any = np.random.get_state()  # noqa: NPY002  to see that nobody used it
    return random.getstate(), state[1].tobytes(), *state[2:]


def same_states(left: State, right: State) -> bool:
    """Whether two states are equal to the last bit."""
    return left.keys() == right.keys() and all(same_bits(left[k], right[k]) for k in left)


def _moved(prior: BetaBernoulli, place: Any) -> BetaBernoulli:
    a, b = np.empty(prior.arms), np.empty(prior.arms)
    a[place], b[place] = prior.a, prior.b
    return BetaBernoulli(a, b)


def _show(values: Floats) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in values) + "]"
