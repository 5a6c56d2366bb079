"""When policies are told the graph: who is refused, who plays, and what is kept of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphbandits import Agent, simulate
from graphbandits.errors import InputError, NeedsError
from graphbandits.graphs import Process, as_process
from graphbandits.graphs.storage import fingerprint, pack_process, unpack_process
from graphbandits.policies import as_policy
from graphbandits.registry import build, registered, text_of

GRAPHS = ["random(r=0.25, told={})", "random(r=uniform, told={})", "revealed-er(p=0.4, told={})"]


def refusal(policy: str, graph: str) -> str:
    """What simulate says, which is what an agent says."""
    with pytest.raises(NeedsError) as simulated:
        simulate(policy, graph=graph, arms=3, horizon=5, trials=2, seed=1)
    with pytest.raises(NeedsError) as live:
        Agent(policy, arms=3, graph=graph, seed=1, horizon=5)
    assert str(live.value) == str(simulated.value)
    return str(simulated.value)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(
    ("told", "here"), [("never", "never told"), ("after", "told after the play only")]
)
def test_who_needs_the_graph_before_is_refused_in_one_sentence(
    graph: str, told: str, here: str
) -> None:
    said = refusal("ids-n", graph.format(told))
    wanted = (
        rf"policy 'ids-n' needs the graph before the decision, and this one is {here}; "
        r"policies that would do: [a-z0-9-]+(, [a-z0-9-]+)*( and \d+ more)?"
    )
    assert re.fullmatch(wanted, said), said


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("told", ["never", "after", "before"])
def test_the_policies_that_are_named_would_do_and_no_others(graph: str, told: str) -> None:
    """Who is refused names policies that are not, and counts those that it leaves out."""
    text = graph.format(told)
    order = ("never", "after", "before")
    playing, refusals = set(), []
    for name in registered("policy"):
        needs = as_policy(name).needs
        enough = order.index(told) >= order.index(needs.graph)
        sure = not needs.deterministic or text.startswith("revealed")
        fixed = not needs.fixed or "r=0.25" in text
        if enough and sure and fixed:
            playing.add(name)
            simulate(name, graph=text, arms=3, horizon=5, trials=2, seed=1)
            Agent(name, arms=3, graph=text, seed=1, horizon=5).decide()
        else:
            refusals.append(refusal(name, text).partition("would do: ")[2])
    for said in refusals:
        names, _, more = said.removesuffix(" more").partition(" and ")
        named = names.split(", ")
        assert set(named) <= playing
        assert len(set(named)) == len(named)
        assert len(named) + int(more or 0) == len(playing)
    assert "ts-n" in playing
    assert ("ids-n" in playing) == (told == "before")


def test_what_is_told_changes_no_world() -> None:
    """The same r, the same rewards: TS-N, which asks for no graph, plays as it did."""
    runs = [
        simulate("ts-n", graph=graph.format(told), arms=3, horizon=40, trials=9, seed=2)["ts-n"]
        for graph in GRAPHS[1:2]
        for told in ("before", "after", "never")
    ]
    assert len(np.unique(runs[0].final)) > 3
    for other in runs[1:]:
        assert (other.final == runs[0].final).all()
        assert (other.plays == runs[0].plays).all()


@pytest.mark.parametrize("graph", GRAPHS)
def test_told_is_one_of_three_words(graph: str) -> None:
    with pytest.raises(InputError, match=r"told is when policies are told the graph: .*before"):
        build("graph", graph.format("later"))


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("told", ["never", "after", "before"])
def test_told_comes_back_from_its_text_and_from_storage(graph: str, told: str) -> None:
    recipe = build("graph", graph.format(told))
    assert ("told" in text_of(recipe)) == (told != "before")
    assert build("graph", text_of(recipe)) == recipe
    process: Process = recipe.process(4)
    arrays: dict[str, np.ndarray] = {}
    config = pack_process(process, None, arrays)
    assert ("told" in config["fields"]) == (told != "before")
    assert unpack_process(config, arrays).told == told


#: sha256 of what was kept of each graph before ``told`` existed.
EARLIER = {
    ("random(r=0.25)", 4): "3a240069fed53ca953764850e466d08f47ce1586ccb2491acdf2070064148dae",
    ("random(r=[0.1, 0.9])", 3): "b9ddc2e5b6e073ccf7635030e950c3d3cb213308ea643d279b9607792a3f1467",
    ("random(r=uniform, low=0.2, high=0.6, shared=true)", 5): (
        "580b588c73a1e718c2bb8ef05817dcf013925e39b0b80b06c3cb1914fbcab2f3"
    ),
    ("revealed-er(p=0.4, directed=true)", 4): (
        "66b40b77e77c9129c1f95c26854e4c6e31a4f890abc62d98f3ff74fe3c76acfa"
    ),
    ("revealed-er", 5): "60aef51bb042e35ce6d9e81ac65e6badd0e77943af6ba0d0adbc3c8cc5b9f32f",
    ("paper", 5): "2990c248f9ac8f42431dac86c214af6395cd327df0b36c229f2228e164d9f07c",
}


@pytest.mark.parametrize(("text", "arms"), EARLIER)
def test_graphs_keep_the_fingerprints_that_they_had(text: str, arms: int) -> None:
    """So that results of earlier versions are still those of the same graph."""
    assert fingerprint(as_process(text, arms)) == EARLIER[text, arms]


@pytest.mark.parametrize("graph", GRAPHS)
def test_fingerprints_tell_what_is_told(graph: str) -> None:
    each = [fingerprint(as_process(graph.format(told), 4)) for told in ("before", "after", "never")]
    assert len(set(each)) == 3
