"""The contract of a policy."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphbandits._types import Floats, State
from graphbandits.engine.loop import propose
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import from_matrix
from graphbandits.live import Agent
from graphbandits.plugins import file_of
from graphbandits.policies import Policy, as_policy
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import name_of, text_of
from graphbandits.rng import Keys, Stream
from graphbandits.store import simulate
from graphbandits.testing import scenarios
from graphbandits.testing.contract import ContractViolation, check, check_form
from graphbandits.testing.scenarios import same_bits
from graphbandits.worlds import Bernoulli

#: Rounds of a long run.
LONG = 100_000


@check("policy", "form")
def form(policy: Policy) -> None:
    """A documented, enrolled class that says what it needs and comes back from its text form."""
    check_form("policy", policy)
    as_policy(policy)  # has all parts, and says what it needs
    if not isinstance(policy.exact, bool):
        raise ContractViolation(
            f"exact is {policy.exact!r}: True if propose returns a distribution"
        )
    text = text_of(policy)
    if as_policy(text) != policy:
        raise ContractViolation(
            f"its text form '{text}' gives {as_policy(text)!r}, which is not equal to {policy!r}"
        )


@check("policy", "state")
def state_is_plain_arrays(policy: Policy) -> None:
    """The state is a dict of named arrays of numbers, each with one row a trial, as init gave it.

    Names, shapes and types stay those of init.
    """
    for scene in scenarios.ordinary_scenarios(policy):
        forms: list[dict[str, str]] = []  # of all states, the first that of init

        def keep(state: State, forms: list[dict[str, str]] = forms) -> None:
            scenarios.check_state(state, 3)
            forms.append({name: f"{v.dtype} of shape {v.shape}" for name, v in state.items()})
            if forms[-1] != forms[0]:
                raise ContractViolation(
                    f"init gave {forms[0]}, and round {len(forms) - 1} {forms[-1]}: the state "
                    "keeps its names, shapes and types, so that it can be saved and loaded"
                )

        scene.run(policy, Keys(11, 1, 3), keep=keep)


@check("policy", "simplex")
def simplex(policy: Policy) -> None:
    """What it proposes is a distribution over the arms for each trial."""
    for scene in scenarios.ordinary_scenarios(policy):
        for t, pi in enumerate(scene.run(policy, Keys(12, 1, 3)), 1):
            if pi.dtype.kind != "f":
                raise ContractViolation(
                    f"{scene.name}: in round {t} pi holds {pi.dtype}: return floats"
                )


@check("policy", "propose-leaves-state")
def propose_leaves_the_state(policy: Policy) -> None:
    """propose changes nothing: not the state, and not its own answer when it is asked again."""
    before: State = {}

    def ahead(state: State, view: Any) -> None:
        before.clear()
        before.update({name: np.array(value) for name, value in state.items()})

    def look(state: State, view: Any, pi: Floats) -> None:
        _check_untouched(before, state, view.t)
        again = propose(policy, state, view)
        if not same_bits(pi, again):
            raise ContractViolation(
                f"asked twice in round {view.t}, it proposed two things: it remembers something "
                "outside its state, or draws without view.random"
            )
        _check_untouched(before, state, view.t)

    for scene in scenarios.ordinary_scenarios(policy):
        scene.run(policy, Keys(13, 1, 3), ahead=ahead, look=look)


@check("policy", "declared-needs")
def declared_needs(policy: Policy) -> None:
    """It looks at nothing that it has not declared in needs: not the graph, not the horizon."""
    graph = scenarios.Forbidden("the graph before its decision", "Needs(graph='before')")
    later = scenarios.Forbidden("the graph", "Needs(graph='after')")
    horizon = scenarios.Forbidden("the horizon", "Needs(horizon=True)")

    def cover(problem: Any) -> Any:
        return problem if policy.needs.horizon else replace(problem, _horizon=horizon)

    def show_view(view: Any) -> Any:
        view = replace(view, problem=cover(view.problem))
        return view if policy.needs.graph == "before" else scenarios.without(view, graph)

    def show_event(event: Any) -> Any:
        event = replace(event, problem=cover(event.problem))
        return scenarios.without(event, later) if policy.needs.graph == "never" else event

    for scene in scenarios.ordinary_scenarios(policy):
        hooks = {"show_problem": cover, "show_view": show_view, "show_event": show_event}
        try:
            scene.run(policy, Keys(14, 1, 2), **hooks)
        finally:
            for forbidden in (graph, later, horizon):
                forbidden.complain()


@check("policy", "own-randomness")
def own_randomness(policy: Policy) -> None:
    """It draws from view.random and event.random only, and leaves the global generators alone."""
    for scene in scenarios.ordinary_scenarios(policy):
        runs = []
        for other in (1, 2):  # numbers ahead in the global generators
            with scenarios.global_generators(other) as untouched:
                runs.append(scene.run(policy, Keys(15, 1, 2)))
                if not untouched():
                    raise ContractViolation(
                        f"{scene.name}: it drew from the global random numbers, or seeded them: "
                        "use view.random(purpose)"
                    )
        for t, (one, two) in enumerate(zip(*runs, strict=True), 1):
            if not same_bits(one, two):
                raise ContractViolation(
                    f"{scene.name}: two runs with the same keys parted in round {t}: it has a "
                    "generator or a memory of its own; use view.random(purpose)"
                )


@check("policy", "batch")
def batch_equals_one_by_one(policy: Policy) -> None:
    """Trials do not see each other: a block gives each the bits that it has alone."""
    for scene in scenarios.ordinary_scenarios(policy):
        block = scene.run(policy, Keys(16, 3, 5))
        for trial in range(5):
            alone = scene.run(policy, Keys(16, 3 + trial, 1))
            for t, (many, one) in enumerate(zip(block, alone, strict=True), 1):
                if not same_bits(many[trial], one[0]):
                    raise ContractViolation(
                        f"{scene.name}, round {t}: in a block of 5 trials it proposed "
                        f"{_show(many[trial])}, for the same trial alone {_show(one[0])}"
                    )


@check("policy", "block-workers-order")
def same_however_it_runs(policy: Policy) -> None:
    """Regret is the same, bit for bit, for any block size, number of workers and order.

    And that of another policy is the same before it and after it.
    """
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
    for number in range(len(scenarios.ordinary_scenarios(policy)[:3])):
        first: dict[str, Floats] = {}
        for way, how in ways.items():
            scene = scenarios.ordinary_scenarios(policy)[
                number
            ]  # anew, in case it writes into the graph
            given: dict[str, Any] = {"policies": [policy], "block": 100, "seed": 17} | how
            result = simulate(
                **given,
                world=Bernoulli(scene.prior),
                graph=scene.process,
                horizon=25,
                trials=10,
                progress=False,
            )
            for text in result.policies:
                if same_bits(first.setdefault(text, result[text].final), result[text].final):
                    continue
                if text == name:
                    raise ContractViolation(
                        f"{scene.name}: another regret with {way} than in one block"
                    )
                raise ContractViolation(
                    f"{scene.name}: '{text}' has another regret after it than before it: does it "
                    "write into the graph, or into anything else that is not its own?"
                )
        ways.pop("blocks of 5 on 2 processes", None)  # once is enough: they take long to start


@check("policy", "relabelling")
def relabelling(policy: Policy) -> None:
    """Calling the arms by other numbers moves what it proposes along (ties excluded)."""
    matrix = (
        scenarios.directed_ranks() if policy.needs.deterministic else scenarios.directed_weights()
    )
    process, prior = from_matrix(matrix), scenarios.lopsided_prior(4)
    place = np.array([2, 0, 3, 1])
    trials = 12 if policy.exact else 3000
    rounds = 80 if policy.exact else 60
    script = scenarios.Script.of(matrix, trials=trials, rounds=rounds, alike=not policy.exact)
    here = scenarios.rehearse(policy, script, process, prior)
    there = scenarios.rehearse(
        policy, script.relabelled(place), scenarios.relabelled(process, place), _moved(prior, place)
    )
    for t, (one, two, tied) in enumerate(zip(here, there, script.ties(), strict=True), 1):
        mine, its = one[~tied], two[~tied][:, place]
        if not policy.exact and len(mine):
            mine, its = mine.mean(axis=0, keepdims=True), its.mean(axis=0, keepdims=True)
            differ = scenarios.shares_differ(mine, its, trials)
        else:
            differ = bool((np.abs(mine - its) > 1e-9).any())
        if differ:
            worst = np.abs(mine - its).max(axis=1).argmax()
            did = "proposed" if policy.exact else f"played over {trials} trials"
            raise ContractViolation(
                f"round {t} of a given history: it {did} {_show(mine[worst])}, and with the arms "
                f"renumbered {_show(its[worst])}; does it treat an arm by its number? (No two arms "
                "have equal counts or means here.)"
            )


@check("policy", "save-load")
def saved_and_loaded(policy: Policy) -> None:
    """An agent that was saved, with decisions open, goes on bit for bit after it is loaded."""
    arms = ["ann", "bob lee", "Zoë", "joe"]
    prior = scenarios.lopsided_prior(4)
    agent = Agent(policy, arms, "path(directed=true)", seed=18, horizon=60, prior=prior, trial=3)
    rewards = Stream(Keys(18, 0, 60), 1, "testing/save").uniform(4) < 0.6

    left_open = []

    def go_on(one: Agent, rounds: range) -> list[Floats]:
        pis = []
        for t in rounds:
            decision = one.decide()
            pis.append(np.array(list(decision.pi.values())))
            if t % 3:  # every third decision stays open
                seen = {arm: int(rewards[t, arms.index(str(arm))]) for arm in decision.reveals}
                one.observe(decision, seen)
            else:
                left_open.append(decision)
        return pis

    go_on(agent, range(20))
    with tempfile.TemporaryDirectory() as folder:
        file = agent.save(Path(folder, "agent.npz"))
        try:
            copy = Agent.load(file)
        except InputError as error:
            raise ContractViolation(
                f"saved after round 20, it cannot be loaded: {error}"
            ) from error
    went_on = []
    for one in (agent, copy):
        pis = go_on(one, range(20, 30))
        one.observe(left_open[0], dict.fromkeys(left_open[0].reveals, 0))  # late, and not at all
        one.observe(left_open[1], {})
        went_on.append(pis + go_on(one, range(30, 40)))
    for t, (mine, its) in enumerate(zip(*went_on, strict=True), 21):
        if not same_bits(mine, its):
            raise ContractViolation(
                f"saved after round 20, it proposed {_show(its)} in round {t} and not "
                f"{_show(mine)}: it remembers something outside its state"
            )


@check("policy", "degenerate")
def degenerate(policy: Policy) -> None:
    """It plays on with one arm, two, equal arms, no edges, all edges, r of 0 and 1."""
    for scene in scenarios.degenerate_scenarios(policy):
        scene.run(policy, Keys(19, 1, 3))


@check("policy", "refused-in-time")
def refused_in_time(policy: Policy) -> None:
    """What it needs and is not told is refused beforehand, and what it has not declared it can do.

    A problem that cannot meet the needs is refused with a hint; all others are played.
    """
    needs = policy.needs
    hidden = "random(r=0.35, graph_known=never)"
    problems: dict[str, tuple[bool, dict[str, Any]]] = {
        "random(r=0.35)": (needs.deterministic, {"graph": "random(r=0.35)", "arms": 6}),
        hidden: (needs.deterministic or needs.graph != "never", {"graph": hidden, "arms": 6}),
        "a graph that changes": (needs.fixed, {"graph": "revealed-er(p=0.4)", "arms": 4}),
        "an unknown horizon": (needs.horizon, {"graph": "star(direction=out)", "arms": 4}),
    }
    for problem, (lacks, given) in problems.items():
        met = not lacks
        given |= {} if problem == "an unknown horizon" else {"horizon": 30}
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
            raise ContractViolation(
                f"with {problem} it failed ({error}): declare in needs what it cannot do without, "
                "and the problem is refused before it starts"
            ) from error
        if not met:
            raise ContractViolation(f"its needs are not met by {problem}, and it was not refused")


@check("policy", "long-run")
def finite_after_a_long_run(policy: Policy) -> None:
    """After 100,000 rounds it still proposes a distribution, and its state is finite."""
    state = scenarios.long_run(policy, LONG)
    for name, value in state.items():
        if not np.isfinite(np.asarray(value, np.float64)).all():
            raise ContractViolation(f"state['{name}'] is no longer finite after {LONG:,} rounds")


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
        raise ContractViolation(
            f"on arms with the means {_show(means)} it lost {result.mean[-1]:.1f} in {horizon} "
            f"rounds; playing at random loses {at_random:.1f}"
        )


def _check_untouched(before: State, state: State, t: int) -> None:
    if state.keys() != before.keys():
        changed = ", ".join(sorted(state.keys() ^ before.keys()))
        raise ContractViolation(
            f"propose added or removed {changed} in round {t}: do that in update"
        )
    for name, value in before.items():
        if not same_bits(value, state[name]):
            raise ContractViolation(
                f"propose wrote into state['{name}'] in round {t}: only update may"
            )


def _moved(prior: BetaBernoulli, place: Any) -> BetaBernoulli:
    a, b = np.empty(prior.arms), np.empty(prior.arms)
    a[place], b[place] = prior.a, prior.b
    return BetaBernoulli(a, b)


def _show(values: Floats) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in values) + "]"
