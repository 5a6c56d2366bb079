"""The command line: what each command prints and writes, and how it refuses bad input."""

import dataclasses
import json
import math
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from xml.etree import ElementTree

import numpy as np
import pytest
from stored import Point, put
from typer.testing import CliRunner

import graphbandits
from graphbandits import open_study
from graphbandits.cli import app
from graphbandits.cli.options import GRAPH_HELP
from graphbandits.engine import Plan
from graphbandits.errors import InputError
from graphbandits.experiments import catalogue, load_experiment
from graphbandits.files import json_text
from graphbandits.gains import sampled_gain
from graphbandits.graphs import Uniform
from graphbandits.policies import Needs
from graphbandits.posteriors import BetaBernoulli
from graphbandits.registry import registered
from graphbandits.results import Results
from graphbandits.store import Store


def split(line: str) -> list[str]:
    """The words of a command line."""
    return line.split()


RULES = ["ts-n", "ids-n", "idsn-lp", "ids-lp"]
FIGURES = ["1a", "1b", "2a", "2b"]
QUANTILES = ["0.1", "0.25", "0.5", "0.75", "0.9", "0.95"]
SIMULATE = split("simulate --policy ids-n --graph paper --horizon 3 --trials 2")
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
LINUX = sys.platform.startswith("linux")

#: Wide, so that no table is folded.
RUNNER = CliRunner(env={"COLUMNS": "400"})


def run(*args: object) -> str:
    """What a command that must succeed prints."""
    result = RUNNER.invoke(app, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 0, result.stderr
    # on a busy machine a run is long enough to tell every half minute how far it is
    told = re.sub(r"^\[[^]]*\] \d+ %.*\n", "", result.stderr, flags=re.MULTILINE)
    assert told == ""
    return result.stdout


def read_json(text: str) -> Any:
    """JSON as the standard has it: no NaN, no Infinity, one value and nothing else."""

    def refuse(word: str) -> NoReturn:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def answer(*args: object) -> Any:
    return read_json(run(*args, "--json"))


def tree(place: Path) -> dict[str, bytes | None]:
    """Every path below a directory, with the content of the files."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
    }


def command(*args: object) -> subprocess.CompletedProcess[str]:
    """A real process, as a user would start it."""
    return subprocess.run(
        [sys.executable, "-m", "graphbandits", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- the program ------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    code = (
        "import sys\n"
        "from graphbandits.cli import app\n"
        "try:\n"
        f"    app(['{option}'])\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        "print(*(name for name in sys.modules if '.' not in name), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout
    loaded = set(done.stderr.split())
    heavy = {"numpy", "scipy", "numba", "matplotlib", "pyarrow", "pydantic", "networkx", "pandas"}
    assert "graphbandits" in loaded
    assert not loaded & heavy


def test_help_names_every_command() -> None:
    shown = run("--help")
    assert all(word in shown for word in ("reproduce", "simulate", "inspect", "list", "--version"))


def test_without_arguments_the_help_is_shown() -> None:
    assert run().strip() == run("--help").strip()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("reproduce", ["--figure", "--trials", "--seed", "--output", "--workers"]),
        (
            "simulate",
            split("--policy --graph --arms --horizon --trials --seed --workers --json"),
        ),
        ("inspect", ["--beta", "--graph", "--samples", "--seed", "--json"]),
        ("list", ["--json"]),
    ],
)
def test_help_of_a_command_names_its_options_and_an_example(name: str, options: list[str]) -> None:
    shown = run(name, "--help")
    assert all(option in shown for option in options)
    assert name == "list" or f"Example: graphbandits {name} " in " ".join(shown.split())


def test_the_help_of_graph_knows_every_graph_there_is() -> None:
    assert set(registered("graph")) <= set(re.findall(r"[a-z-]+", GRAPH_HELP))


def test_version() -> None:
    assert run("--version") == f"graphbandits {graphbandits.__version__}\n"


def test_the_installed_script_and_the_module_are_the_same_program() -> None:
    script = Path(sys.executable).with_name("graphbandits")
    if not script.exists():
        pytest.skip("the script is not installed beside this Python")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    module = command("--version")
    assert (done.returncode, done.stdout) == (module.returncode, module.stdout)
    assert done.stdout == f"graphbandits {graphbandits.__version__}\n"


# --- list -------------------------------------------------------------------------------------


def parameters(cls: type) -> list[str]:
    return [field.name for field in dataclasses.fields(cls) if field.init]


@pytest.mark.parametrize(("what", "kind"), [("policies", "policy"), ("graphs", "graph")])
def test_list_has_every_plugin_with_its_description_and_parameters(what: str, kind: str) -> None:
    listing = answer("list", what)
    assert list(listing) == [what]
    assert [entry["name"] for entry in listing[what]] == list(registered(kind))
    for entry in listing[what]:
        cls = registered(kind)[entry["name"]]
        assert entry["description"] in " ".join((cls.__doc__ or "").replace("``", "").split())
        assert entry["description"].endswith(".")
        assert list(entry["parameters"]) == parameters(cls)
        if kind == "policy":
            assert entry["needs"] == dataclasses.asdict(cls.needs)  # type: ignore[attr-defined]


def test_list_gives_defaults_and_needs() -> None:
    listing = answer("list")
    assert list(listing) == ["policies", "graphs", "posteriors", "experiments"]
    graphs = {entry["name"]: entry for entry in listing["graphs"]}
    assert graphs["star"]["parameters"] == {"direction": "both"}
    assert graphs["revealed-er"]["parameters"]["p"] == 0.25
    policies = {entry["name"]: entry for entry in listing["policies"]}
    assert policies["ts-n"]["needs"]["graph"] == "never"
    assert policies["ids-n"]["needs"]["graph"] == "before"


def test_list_tells_the_needs_of_a_new_policy_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True)
    class Demanding:
        """Wants to be told a lot."""

        draws: int = 3
        needs: ClassVar[Needs] = Needs(graph="after", deterministic=True, fixed=True)

    monkeypatch.setattr(catalogue, "registered", lambda kind: {"demanding": Demanding})
    (entry,) = answer("list", "policies")["policies"]
    told = {"graph": "after", "deterministic": True, "horizon": False, "fixed": True}
    assert entry["needs"] == told
    assert entry["parameters"] == {"draws": 3}
    assert "draws=3" in run("list", "policies")


def test_list_prints_what_the_function_returns() -> None:
    assert answer("list") == json.loads(json.dumps(graphbandits.list_available()))


@pytest.mark.parametrize("what", [[], ["policies"], ["graphs"], ["experiments"]])
def test_the_listing_for_people_says_the_same(what: list[str]) -> None:
    shown = run("list", *what)
    for entries in answer("list", *what).values():
        for entry in entries:
            row = next(line for line in shown.splitlines() if line.split()[:1] == [entry["name"]])
            assert entry["description"] in row
            assert all(name in row for name in entry.get("parameters", []))
            for number in entry.get("size", {}).values():
                ends = (min(number), max(number)) if isinstance(number, list) else (number,)
                assert " to ".join(map(str, ends)) in row
            assert str(entry.get("runs", "")) in row


# --- inspect ----------------------------------------------------------------------------------

PARTS = ["arms", "alpha", "delta", "h", "rho", "accuracy", "gain", "pi", "ratio"]
PARTS += ["joint_ratio", "psi", "limit"]
#: The same rules by the exact gain g, where they look at a gain at all.
BY_JOINT = [f"{name}(gain=joint)" for name in RULES if name != "ts-n"]
TOURNAMENT = ["inspect", "--beta", "1,2", "--beta", "4,4", "--beta", "12,9"]


@pytest.fixture
def tournament(place: Path) -> list[str]:
    """Three arms, and the directed transitive tournament 1->2, 1->3, 2->3."""
    (place / "edges.txt").write_text("1 2\n1 3\n2 3\n")
    return [*TOURNAMENT, "--graph", "file:edges.txt"]


def test_two_uniform_arms_have_the_statistics_of_the_textbook() -> None:
    shown = answer("inspect", "--beta", "1,1", "--beta", "1,1", "--graph", "empty")
    entropy = -(math.log(1 / 3) / 3 + 2 * math.log(2 / 3) / 3)
    assert shown["alpha"] == pytest.approx([1 / 2, 1 / 2], abs=1e-14)
    assert shown["rho"] == pytest.approx(2 / 3, abs=1e-14)
    assert shown["delta"] == pytest.approx([1 / 6, 1 / 6], abs=1e-14)
    assert shown["h"] == pytest.approx([math.log(2) - entropy] * 2, abs=1e-14)
    assert shown["gain"]["bound"] == shown["h"]
    assert shown["gain"]["joint"] == pytest.approx(shown["h"], rel=1e-12)  # each shows itself
    assert shown["arms"] == ["1", "2"]


def test_the_published_information_ratio_of_the_tournament(tournament: list[str]) -> None:
    shown = answer(*tournament)
    assert shown["ratio"]["ts-n"] == pytest.approx(0.715401495806, abs=1e-11)


def test_the_parts_of_a_decision_agree_with_each_other(tournament: list[str]) -> None:
    shown = answer(*tournament)
    assert list(shown) == PARTS
    assert sorted(shown["pi"]) == sorted(RULES + BY_JOINT)
    assert list(shown["ratio"]) == list(shown["joint_ratio"]) == list(shown["pi"])
    assert sum(shown["alpha"]) == pytest.approx(1.0, abs=1e-12)
    means = [1 / 3, 1 / 2, 12 / 21]
    assert shown["delta"] == pytest.approx([shown["rho"] - mean for mean in means], abs=1e-12)
    alpha, delta, h = (np.array(shown[key]) for key in ("alpha", "delta", "h"))
    gain, joint = (np.array(shown["gain"][key]) for key in ("bound", "joint"))
    assert joint[0] > 1.001 * gain[0]  # three arms seen together tell more than each by itself
    assert joint[1] > gain[1]
    assert joint[2] == pytest.approx(gain[2], rel=1e-12)
    for name, play in shown["pi"].items():
        pi = np.array(play)
        assert pi.min() >= 0.0
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)
        assert shown["ratio"][name] == pytest.approx((pi @ delta) ** 2 / (pi @ gain), rel=1e-12)
        by_g = (pi @ delta) ** 2 / (pi @ joint)
        assert shown["joint_ratio"][name] == pytest.approx(by_g, rel=1e-12)
    assert shown["pi"]["ts-n"] == shown["alpha"]
    assert np.count_nonzero(shown["pi"]["ids-n"]) <= 2
    assert shown["ratio"]["ids-n"] == min(shown["ratio"].values())
    assert shown["joint_ratio"]["ids-n(gain=joint)"] == min(shown["joint_ratio"].values())
    assert shown["psi"] == shown["ratio"]["ts-n"] <= shown["limit"] == 3 / 2  # three cliques
    thompson = alpha @ delta
    for name, gained, learned in (
        ("idsn-lp", gain, alpha @ gain),
        ("ids-lp", gain, alpha @ h),
        ("idsn-lp(gain=joint)", joint, alpha @ joint),
        ("ids-lp(gain=joint)", joint, alpha @ h),
    ):
        pi = np.array(shown["pi"][name])
        assert pi @ gained >= learned - 1e-12
        assert pi @ delta <= thompson + 1e-12


def test_the_gain_is_g_h_of_an_asymmetric_edge_list(place: Path) -> None:
    (place / "edges.txt").write_text(
        "# who sees whom\ncarol ann 0.25\nann bob\nbob ann 0\ncarol bob 0.5  # unsure\ndora\n"
    )
    betas = ["--beta", "1,2", "--beta", "4,4", "--beta", "12,9", "--beta", "3,1"]
    shown = answer("inspect", *betas, "--graph", "file:edges.txt")
    assert shown["arms"] == ["carol", "ann", "bob", "dora"]
    carol, ann, bob, dora = shown["h"]
    by_hand = [carol + 0.25 * ann + 0.5 * bob, ann + bob, bob, dora]
    assert shown["gain"]["bound"] == pytest.approx(by_hand, rel=1e-14)
    assert (np.array(shown["gain"]["joint"]) >= np.array(by_hand) * (1.0 - 1e-12)).all()


def test_a_joint_gain_out_of_reach_is_none_with_a_reason_and_can_be_sampled() -> None:
    words = ["inspect", *(word for i in range(16) for word in ("--beta", f"{i + 1},3"))]
    words += ["--graph", "random(r=0.3)"]
    refused_, estimated = answer(*words), answer(*words, "--samples", 20, "--seed", 3)
    assert refused_["gain"]["joint"] is None
    assert refused_["joint_ratio"] is None
    assert "at most 5,000,000 are affordable" in refused_["gain"]["reason"]
    assert sorted(refused_["pi"]) == sorted(RULES)
    assert refused_["limit"] == pytest.approx(16 / (2 * (16 * 0.3 + 0.7)))
    found = estimated.pop("sampled")
    assert estimated == refused_
    assert (found["samples"], found["seed"]) == (20, 3)
    a = np.arange(1.0, 17.0)
    posterior = BetaBernoulli(a, np.full(16, 3.0))
    again = sampled_gain(posterior, posterior.init(1), Uniform(0.3, 16), 20, seed=3)
    assert found["gain"] == again.value[0].tolist()
    assert found["standard_error"] == again.standard_error[0].tolist()
    shown = run(*words)
    assert "No g: the joint gain would tell" in shown
    assert "--samples 1000" in shown


def test_how_tight_the_bound_is_stands_beside_it(tournament: list[str]) -> None:
    numbers, shown = answer(*tournament)["gain"], run(*tournament)
    share = 100.0 * numbers["bound"][0] / numbers["joint"][0]
    assert share < 99.9
    lines = [line.split() for line in shown.splitlines()]
    believed = [next(line for line in lines if line[:1] == [arm]) for arm in ("1", "2", "3")]
    assert believed[0][-1] == f"{share:.1f}%"
    assert believed[2][-1] == "100%"
    assert "psi, the ratio of ts-n by G h: 0.7154, at most 1.5 here." in shown


def test_inspect_prints_what_the_function_returns() -> None:
    found = graphbandits.inspect_decision([(1, 2), "4,4"], "star", samples=10, seed=3)
    words = ["inspect", "--beta=1,2", "--beta=4,4", "--graph=star", "--samples=10", "--seed=3"]
    assert read_json(json_text(found.to_dict())) == answer(*words)
    with pytest.raises(InputError, match="two numbers A,B"):
        graphbandits.inspect_decision([(1, 2, 3)], "star")  # type: ignore[list-item]


def test_the_graph_changes_the_gain_and_not_the_beliefs(tournament: list[str]) -> None:
    one = answer(*tournament)
    other = answer(*TOURNAMENT, "--graph", "empty")
    for key in ("arms", "alpha", "delta", "h", "rho"):
        assert one[key] == other[key]
    assert one["gain"] != other["gain"]


@pytest.mark.parametrize("graph", ["complete", "random(r=1)", "cliques(size=3)"])
def test_a_complete_graph_makes_all_but_thompson_greedy(graph: str) -> None:
    shown = answer(*TOURNAMENT, "--graph", graph)
    assert shown["gain"]["bound"] == pytest.approx([sum(shown["h"])] * 3, rel=1e-14)
    greedy = [0.0, 0.0, 1.0]  # 12/21 is the largest mean
    for name in ("ids-n", "idsn-lp", "ids-lp", *BY_JOINT):
        assert shown["pi"][name] == greedy


def test_a_clique_larger_than_the_graph_is_the_complete_graph() -> None:
    huge = answer(*TOURNAMENT, "--graph", f"cliques(size={10**15})")
    assert huge == answer(*TOURNAMENT, "--graph", "complete")


def test_a_single_arm_teaches_nothing_and_has_no_ratio() -> None:
    shown = answer("inspect", "--beta", "3,4", "--graph", "empty")
    assert shown["alpha"] == [1.0]
    assert shown["delta"] == pytest.approx([0.0], abs=1e-15)
    assert shown["h"] == pytest.approx([0.0], abs=1e-15)
    assert all(pi == [1.0] for pi in shown["pi"].values())
    assert all(ratio is None or ratio == 0.0 for ratio in shown["ratio"].values())


def test_inspect_for_people_shows_the_same_numbers(tournament: list[str]) -> None:
    shown, numbers = run(*tournament), answer(*tournament)
    assert f"{numbers['rho']:.4f}" in shown
    for values in (numbers["alpha"], numbers["delta"], numbers["ratio"].values()):
        assert all(f"{value:.4f}" in shown for value in values)
    assert all(name in shown for name in RULES)


def test_inspect_is_strict_and_says_how_accurate_it_is() -> None:
    """A leader by ten standard deviations: P(Beta(40, 160) > Beta(150, 50)), exactly."""
    words = ["inspect", "--beta", "150,50", "--beta", "40,160", "--graph", "empty"]
    numbers, shown = answer(*words), run(*words)

    def beta(a: int, b: int) -> Fraction:
        return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))

    chance = sum(
        beta(150 + i, 210) / ((160 + i) * beta(1 + i, 160) * beta(150, 50)) for i in range(40)
    )
    assert 0.0 < chance < 1e-25
    assert numbers["accuracy"]["setting"] == "strict"
    assert 0.0 < numbers["accuracy"]["estimate"] < 1e-8
    error = abs(numbers["alpha"][1] / float(chance) - 1.0)
    assert error <= numbers["accuracy"]["estimate"]
    assert f" {float(chance):.1e} " in shown
    estimate = f"{numbers['accuracy']['estimate']:.0e}"
    assert f"accurate to {estimate} relatively" in shown
    assert "(estimated)." in shown


@pytest.mark.parametrize(
    ("betas", "words"),
    [
        (["500000,500000", "500100,499900"], ["500100, 499900", "0.4438", "0.5562"]),
        (["0.001,0.001", "1,1"], ["0.001, 0.001", "0.7498", "0.2498"]),
        (["999999999,1", "5,0.001"], ["999999999, 1", "at 1 - "]),
        (["0.001,1e9", "0.002,1e9"], ["0.002, 1e+09", "at 3.0e-12", "0.3333", "0.6667"]),
        (["999999999.5,999999998.5", "1e9,1e9"], ["999999999.5,", "999999998.5", "0.5000"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_table_of_eighty_columns_cuts_no_number(betas: list[str], words: list[str]) -> None:
    options = [word for beta in betas for word in ("--beta", beta)]
    narrow = CliRunner(env={"COLUMNS": "80"})
    shown = narrow.invoke(app, ["inspect", *options, "--graph", "star"]).stdout
    assert all(word in shown for word in words)
    assert "…" not in shown
    assert "0.0000" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_many_arms_are_shown_too() -> None:
    betas = [word for i in range(100) for word in ("--beta", f"1,{i + 1}")]
    numbers = answer("inspect", *betas, "--graph", "ring")
    shown = run("inspect", *betas, "--graph", "ring")
    assert numbers["arms"] == [str(i + 1) for i in range(100)]
    for arm in numbers["arms"]:  # once among the beliefs, once among the plays
        assert sum(line.split()[:1] == [arm] for line in shown.splitlines()) == 2


@pytest.mark.parametrize("name", ["[red]ann", "[/x]", "[bold]", "ann[1]", "\\[b]"])
def test_names_in_brackets_are_shown_as_they_are(place: Path, name: str) -> None:
    (place / "edges.txt").write_text(f"{name} bob\n")
    args = ["inspect", "--beta", "1,1", "--beta", "1,1", "--graph", "file:edges.txt"]
    assert answer(*args)["arms"] == [name, "bob"]
    assert name in run(*args)


@pytest.mark.parametrize("folder", ["[bold]", "[/bold]"])
@pytest.mark.parametrize(
    "args",
    [
        ["inspect", "--beta", "1,1", "--beta", "1,1"],
        ["simulate", "--policy", "ts-n", "--horizon", "2", "--trials", "2"],
    ],
    ids=["inspect", "simulate"],
)
def test_paths_in_brackets_are_shown_as_they_are(place: Path, folder: str, args: list[str]) -> None:
    path = place / folder / "edges.txt"
    path.parent.mkdir(parents=True)
    path.write_text("ann bob\n")
    assert f"{folder}/edges.txt" in run(*args, "--graph", f"file:{folder}/edges.txt")


@pytest.mark.parametrize("charset", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize(
    "args",
    [
        ["inspect", "--beta", "1,2", "--beta", "4,4", "--graph", "file:edges.txt"],
        ["inspect", "--beta", "1,2", "--beta", "4,4", "--graph", "file:edges.txt", "--json"],
        ["simulate", "--policy", "ts-n", "--graph", "paper", "--horizon", "2", "--trials", "2"],
        ["list"],
        ["--help"],
    ],
    ids=lambda args: args[0] + args[-1] * (args[-1] == "--json"),
)
def test_output_that_is_not_unicode_is_no_obstacle(
    place: Path, charset: str, args: list[str]
) -> None:
    (place / "edges.txt").write_text("ann \u0142\u00f3d\u017a\n", "utf-8")
    result = CliRunner(charset=charset).invoke(app, args)
    assert result.exit_code == 0, result.exception


# --- simulate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["paper", "star", "random(r=uniform)", "file:edges.txt"])
def test_simulate_is_the_python_function(place: Path, graph: str) -> None:
    (place / "edges.txt").write_text("ann bob 0.5\nbob carol\n")
    policies = ["ids-n", "ts-n"]
    size = {"horizon": 7, "trials": 5, "seed": 3}
    options = [f"--{name}={value}" for name, value in size.items()]
    shown = answer("simulate", "--policy", "ids-n", "--policy", "ts-n", "--graph", graph, *options)
    results = graphbandits.simulate(policies, graph=graph, **size)  # type: ignore[arg-type]
    assert shown == json.loads(json.dumps(results.summary()))
    assert list(shown["policies"]) == policies
    for name in policies:
        regret = shown["policies"][name]["regret"]
        assert regret["mean"] == results[name].final.mean()
        assert regret["quantiles"]["0.9"] == np.quantile(results[name].final, 0.9)


def test_simulate_answers_with_regret_curve_and_settings() -> None:
    args = "simulate --policy ids-n --policy ts-n --graph star --arms 4 --horizon 300 --trials 9"
    shown = answer(*split(args))
    assert list(shown) == ["policies", "settings"]
    for numbers in shown["policies"].values():
        regret, curve = numbers["regret"], numbers["curve"]
        assert curve["mean"][-1] == regret["mean"]
        assert len(curve["round"]) == len(curve["mean"]) <= 200
        assert (curve["round"][0], curve["round"][-1]) == (1, 300)
        assert np.all(np.diff(curve["round"]) > 0)
        assert np.all(np.diff(curve["mean"]) >= 0)
        assert list(regret["quantiles"]) == QUANTILES
        assert np.all(np.diff(list(regret["quantiles"].values())) >= 0)
        assert regret["quantiles"]["0.1"] < regret["quantiles"]["0.95"]
        assert regret["standard_error"] > 0
        assert sum(numbers["plays"].values()) == 300 * 9
    given = {"graph": "star", "arms": 4, "horizon": 300, "trials": 9, "seed": 0}
    assert given.items() <= shown["settings"].items()


def test_simulate_gives_the_same_bits_for_any_number_of_workers() -> None:
    args = "simulate --policy ids-n --policy ts-n --graph random(r=0.5) --horizon 4 --trials 230"
    one = run(*split(args), "--workers", 1, "--json")
    assert run(*split(args), "--workers", 2, "--json") == one
    assert run(*split(args), "--json") == one


def test_a_policy_does_as_well_alone_as_in_company() -> None:
    together = answer(*SIMULATE, "--policy", "ts-n")
    alone = answer(*SIMULATE)
    assert together["policies"]["ids-n"] == alone["policies"]["ids-n"]


def test_the_seed_decides() -> None:
    assert answer(*SIMULATE, "--seed", 1) == answer(*SIMULATE, "--seed", 1)
    one, other = (answer(*SIMULATE, "--seed", seed)["policies"] for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize(
    ("options", "arms"),
    [
        (["--graph", "empty"], 5),
        (["--graph", "empty", "--arms", "3"], 3),
        (["--graph", "paper"], 5),
    ],
)
def test_the_number_of_arms(options: list[str], arms: int) -> None:
    shown = answer("simulate", "--policy", "ts-n", "--horizon", 2, "--trials", 2, *options)
    assert shown["settings"]["arms"] == arms
    assert list(shown["policies"]["ts-n"]["plays"]) == [str(i + 1) for i in range(arms)]


def test_one_trial_has_a_regret_and_no_standard_error() -> None:
    shown = answer(*SIMULATE, "--trials", 1)["policies"]["ids-n"]["regret"]
    assert shown["standard_error"] is None
    assert set(shown["quantiles"].values()) == {shown["mean"]}


def test_simulate_for_people_shows_means_and_confidence_intervals() -> None:
    shown = run(*SIMULATE, "--policy", "ts-n", "--trials", 20)
    results = graphbandits.simulate(["ids-n", "ts-n"], graph="paper", horizon=3, trials=20)
    best, other = results.ranking()
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    for name in (best, other):
        low, high = results.interval(name)
        assert f"{results[name].mean[-1]:.2f}" in rows[name]
        assert f"[{low:.2f}, {high:.2f}]" in rows[name]
    assert "95% interval" in shown
    assert f"{results.differences(best)[0].mean:+.2f}" in rows[other]


def test_a_table_of_one_trial_says_that_there_is_no_interval() -> None:
    shown = run(*SIMULATE, "--policy", "ts-n", "--trials", 1)
    assert "nan" not in shown
    mean = graphbandits.simulate("ids-n", graph="paper", horizon=3, trials=1)["ids-n"].mean[-1]
    row = next(line for line in shown.splitlines() if line.split()[:1] == ["ids-n"])
    # policy, regret, interval, median, 95% below: a word in each column, none left blank
    assert len(row.split()) >= 5
    assert row.split()[1] == f"{mean:.2f}"


# --- reproduce --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """All four experiments at their full length, with two trials; the directory and the output."""
    output = tmp_path_factory.mktemp("reproduced") / "new" / "figures"
    shown = run("reproduce", "--trials", 2, "--seed", 7, "--workers", 1, "--output", output)
    return output, shown


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiments with 5 rounds instead of 1000."""

    def load(name: str) -> Any:
        return load_experiment(name).model_copy(update={"horizon": 5})

    for module in ("graphbandits.experiments", "graphbandits.experiments.run"):
        monkeypatch.setattr(f"{module}.load_experiment", load)


def files_of(figures: list[str]) -> set[str]:
    files = {"summary.json", "report.html"}
    for figure in figures:
        pictures = [f"figure-{figure}{part}" for part in ("", "-final", "-differences", "-plays")]
        files |= {f"{picture}.{kind}" for picture in pictures for kind in ("png", "svg", "pdf")}
        files.add(f"studies/{figure}.json")
    return files | {"store.json", "studies", "cells", "shards", "running"}


def named(place: Path) -> set[str]:
    """What a directory has, but the content of the store, whose names are hashes."""
    return {name for name in tree(place) if not name.startswith(("cells/", "shards/"))}


def kept(place: Path, figure: str) -> Results:
    """The results of an experiment, every trial of them."""
    (cell,) = open_study(place, figure).cells
    return cell.results(curves=True)


def shards(place: Path) -> dict[Path, int]:
    """Every shard, and when it was written."""
    return {path: path.stat().st_mtime_ns for path in place.glob("shards/*/*.parquet")}


def test_reproduce_writes_figures_a_store_and_a_summary(reproduced: tuple[Path, str]) -> None:
    output, _ = reproduced
    assert named(output) == files_of(FIGURES)
    for figure in FIGURES:
        assert open_study(output, figure).progress().complete
        assert (output / f"figure-{figure}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        drawing = ElementTree.parse(output / f"figure-{figure}.svg").getroot()
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert list(read_json((output / "summary.json").read_text())) == FIGURES


@pytest.mark.parametrize(
    ("figure", "graph"),
    [
        ("1a", "paper"),
        ("1b", "revealed-er(p=0.25)"),
        ("2a", "random(r=0.25)"),
        ("2b", "random(r=uniform)"),
    ],
)
def test_the_summary_is_that_of_the_kept_results_and_of_simulate(
    reproduced: tuple[Path, str], figure: str, graph: str
) -> None:
    output, _ = reproduced
    summary = read_json((output / "summary.json").read_text())[figure]
    results = kept(output, figure)
    assert list(summary["policies"]) == list(results.policies)
    assert set(results.policies) > set(RULES)
    settings = {"graph": graph, "arms": 5, "horizon": 1000, "trials": 2, "seed": 7}
    assert settings.items() <= summary["settings"].items()
    assert summary["settings"] == results.settings
    for name, numbers in summary["policies"].items():
        assert numbers["regret"]["mean"] == results[name].final.mean()
        assert numbers["regret"]["interval"] == list(results.interval(name))
        assert sum(numbers["plays"].values()) == 2 * 1000
    count = len(results.policies)
    assert len(summary["differences"]) == count * (count - 1) // 2
    for pair in summary["differences"]:
        gap = results[pair["first"]].final - results[pair["second"]].final
        assert pair["mean"] == pytest.approx(gap.mean(), rel=1e-12)
        assert pair["interval"][0] <= pair["mean"] <= pair["interval"][1]
    names = list(results.policies)
    again = graphbandits.simulate(names, graph=graph, horizon=1000, trials=2, seed=7)
    assert again.hash == results.hash


def test_reproduce_prints_tables_with_confidence_intervals(reproduced: tuple[Path, str]) -> None:
    output, shown = reproduced
    assert shown.count("95% interval") == 8  # a table of regrets and one of claims each
    for figure in FIGURES:
        results = kept(output, figure)
        for name in results.policies:
            low, high = results.interval(name)
            assert re.search(rf"{name} .*\[{low:.2f}, {high:.2f}\]", shown)
    done, *written = shown[shown.index("Done in ") :].splitlines()
    assert re.fullmatch(rf"Done in (\d+ min )?\d+ s\. Written to {re.escape(str(output))}/:", done)
    # of the sixteen figures the first and the last
    names = ["report.html", "summary.json", "figure-1a.png", "... (14 more)"]
    assert [line.strip() for line in written[:-1]] == [*names, "figure-2b-plays.png"]
    assert str(output / "report.html") in written[-1]


@pytest.mark.parametrize("figure", FIGURES)
def test_reproduce_judges_what_the_paper_claims(reproduced: tuple[Path, str], figure: str) -> None:
    output, shown = reproduced
    summary = read_json((output / "summary.json").read_text())[figure]
    results = kept(output, figure)
    page = (output / "report.html").read_text()
    claims = summary["claims"]
    assert [claim["text"] for claim in claims] == [
        claim.text for claim in load_experiment(f"paper-{figure}").claims
    ]
    assert sorted([*claims[0]["better"], *claims[0]["than"]]) == sorted(results.policies)
    for claim in claims:
        assert claim["text"] in shown
        assert claim["text"] in page
        assert claim["verdict"] in ("holds", "fails", "not told apart")
        for pair in claim["differences"]:
            gap = results[pair["first"]].final - results[pair["second"]].final
            assert pair["mean"] == pytest.approx(gap.mean(), rel=1e-12)
            low, high = pair["simultaneous_interval"]
            assert low <= pair["mean"] <= high
            assert low <= 0.0 or claim["verdict"] == "fails"
            assert high < 0.0 or claim["verdict"] != "holds"


def test_a_study_of_an_earlier_run_without_the_baselines_stays_in_the_page(
    place: Path, short: None
) -> None:
    old = Plan.of(RULES, graph="paper", horizon=5, trials=4, seed=3)
    claims = [dataclasses.asdict(c) for c in load_experiment("paper-1a").judged_claims()]
    put(place / "figures", "1a", [Point(old)], claims=claims)
    run("reproduce", "--figure", "2a", "--trials", 2)
    summary = read_json(Path("figures/summary.json").read_text())
    assert list(summary["1a"]["policies"]) == RULES
    assert [claim["better"] for claim in summary["1a"]["claims"]] == [RULES[1:]]


def test_reproduce_says_what_it_will_do_and_how_long_before_it_starts(
    place: Path, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphbandits.cli.progress.LONG", 1)
    monkeypatch.setattr("graphbandits.experiments.progress.LiveProgress.started", interrupt)
    args = split("reproduce --figure 1b --figure 2a --trials 3 --workers 2 --output here")
    result = RUNNER.invoke(app, args)
    assert result.exit_code == 130
    announced = result.stdout
    for word in ("1b", "2a", *RULES, "exp3-res", "5 rounds", "3 trials", "2 workers", "here"):
        assert word in announced
    assert not re.search(r"^ *1a|^ *2b", announced, re.MULTILINE)
    assert re.search(r"About \d+ (s|min) of simulation on 2 workers;\n", announced)
    size = r"about [\d.]+ (bytes|kB|MB) go to here/, and what is there survives a stop\n"
    assert re.search(size, announced)
    assert shards(place / "here") == {}


def test_reproduce_gives_the_same_numbers_for_any_number_of_workers(
    place: Path, short: None
) -> None:
    for workers, output in ((1, "one"), (2, "two")):
        options = ["--trials", 120, "--seed", 3, "--workers", workers, "--output", output]
        run("reproduce", "--figure", "1b", "--figure", "2b", *options)
    assert Path("one/summary.json").read_bytes() == Path("two/summary.json").read_bytes()
    assert named(Path("one")) == files_of(["1b", "2b"])
    for figure in ("1b", "2b"):
        assert kept(Path("one"), figure).hash == kept(Path("two"), figure).hash


def test_reproduce_again_replaces_and_leaves_what_is_not_its_own(place: Path, short: None) -> None:
    args = ["reproduce", "--figure", "2a", "--trials", 3, "--output", "figures"]
    run(*args, "--seed", 1)
    first, before = tree(place / "figures"), shards(place / "figures")
    (place / "figures" / "notes.txt").write_text("mine")
    told = RUNNER.invoke(app, [str(arg) for arg in (*args, "--seed", 2)])
    assert told.exit_code == 0
    assert re.fullmatch(
        r"figures had a study '2a' with other settings .*'graphbandits store gc'\n", told.stderr
    )
    second = tree(place / "figures")
    assert second.pop("notes.txt") == b"mine"
    (place / "figures" / "notes.txt").unlink()
    assert named(place / "figures") == files_of(["2a"])
    assert first["report.html"] != second["report.html"]
    assert read_json(second["summary.json"].decode())["2a"]["settings"]["seed"] == 2
    assert kept(place / "figures", "2a").settings["seed"] == 2
    changed = [name for name in first if name.endswith(("png", "svg", "pdf"))]
    assert changed
    assert all(first[name] != second[name] for name in changed)
    after = shards(place / "figures")
    assert len(after) == 2 * len(before)
    RUNNER.invoke(app, [str(arg) for arg in (*args, "--seed", 1)])
    assert tree(place / "figures")["summary.json"] == first["summary.json"]
    # what the first seed had left is there still, and nothing was computed for it
    assert before.items() <= after.items()
    assert shards(place / "figures") == after


def test_a_figure_asked_for_twice_is_drawn_once(place: Path, short: None) -> None:
    shown = run("reproduce", "--figure=1a", "--figure=1a", "--trials=2", "--output=figures")
    assert shown.count("vs the best") == 1
    assert list(read_json(Path("figures/summary.json").read_text())) == ["1a"]


def test_the_output_goes_to_figures_unless_said(place: Path, short: None) -> None:
    run("reproduce", "--figure", "1a", "--trials", 2)
    assert named(place / "figures") == files_of(["1a"])


def test_the_summary_of_one_trial_is_json(place: Path, short: None) -> None:
    shown = run("reproduce", "--figure", "1a", "--trials", 1)
    summary = read_json(Path("figures/summary.json").read_text())
    assert summary["1a"]["policies"]["ts-n"]["regret"]["standard_error"] is None
    assert "nan" not in shown


def test_an_output_in_brackets_is_shown_as_it_is(place: Path, short: None) -> None:
    shown = run("reproduce", "--figure", "1a", "--trials", 2, "--output", "[bold]")
    assert "Written to [bold]/:\n" in shown
    assert "open [bold]/report.html in a browser" in shown
    assert named(place / "[bold]") == files_of(["1a"])


def test_reproduce_on_a_terminal_that_is_not_unicode(place: Path, short: None) -> None:
    args = ["reproduce", "--figure", "1b", "--trials", "2"]
    result = CliRunner(charset="ascii").invoke(app, args)
    assert result.exit_code == 0, result.exception
    assert named(place / "figures") == files_of(["1b"])


def interrupt(*args: object, **options: object) -> NoReturn:
    raise KeyboardInterrupt


def test_an_interrupted_simulation_says_so_in_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphbandits.store.simulate_plan", interrupt)
    result = RUNNER.invoke(app, SIMULATE)
    assert result.exit_code == 130
    assert result.stderr == "stopped; nothing was written for what had not finished.\n"
    assert tree(place) == {}


@pytest.mark.parametrize(
    ("args", "key", "output", "policies"),
    [
        (["reproduce", "--figure", "1a", "--trials", "2"], "1a", "figures", 8),
        ([*SIMULATE, "--policy=ts-n", "--policy=ucb-n", "--output=out"], "simulation", "out", 3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_interrupted_run_keeps_what_had_finished_and_goes_on(
    place: Path,
    short: None,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    key: str,
    output: str,
    policies: int,
) -> None:
    args, write, left = [*args, "--workers", "1"], Store.write, [2]

    def stop_after_two(*given: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return write(*given)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "write", stop_after_two)
        result = RUNNER.invoke(app, args)
    assert result.exit_code == 130
    there = f"4 of {2 * policies} trials are kept in {output}"
    assert result.stderr == f"stopped; {there}: the same command goes on there.\n"
    before = shards(place / output)
    assert len(before) == 2
    assert not (place / output / "report.html").exists()
    run(*args)
    after = shards(place / output)
    assert len(after) == policies
    assert before.items() <= after.items()  # they were not written again
    results = kept(place / output, key)
    whole = graphbandits.simulate(
        list(results.policies), graph="paper", horizon=results.settings["horizon"], trials=2
    )
    assert results.hash == whole.hash


# --- bad input --------------------------------------------------------------------------------


def refused(place: Path, args: list[str]) -> str:
    """The message of a command that must refuse: one line, exit code 2, nothing left behind."""
    before = tree(place)
    result = RUNNER.invoke(app, args)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.endswith("\n")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    assert tree(place) == before
    return result.stderr


@pytest.fixture
def bad_files(place: Path) -> Path:
    (place / "above.txt").write_text("ann bob 0.5\nbob ann 1.5\n")
    (place / "below.txt").write_text("ann bob -0.1\n")
    (place / "nan.txt").write_text("ann bob nan\n")
    (place / "word.txt").write_text("ann bob often\n")
    (place / "four.txt").write_text("ann bob 0.5 carol\n")
    (place / "empty.txt").write_text("# nothing\n")
    (place / "loop.txt").write_text("ann ann 0.5\n")
    (place / "twice.txt").write_text("ann bob 0.5\nann bob 0.6\n")
    (place / "binary.dat").write_bytes(bytes(range(256)))
    (place / "good.txt").write_text("ann bob\nbob carol\n")
    (place / "folder").mkdir()
    return place


@pytest.mark.parametrize("head", ["inspect", "simulate"])
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("above.txt", ["line 2", "1.5", "[0, 1]"]),
        ("below.txt", ["line 1", "-0.1", "[0, 1]"]),
        ("nan.txt", ["line 1", "nan", "[0, 1]"]),
        ("word.txt", ["line 1", "often", "[0, 1]"]),
        ("four.txt", ["line 1", "source target [probability]", "4"]),
        ("empty.txt", ["no edges", "source target"]),
        ("loop.txt", ["line 1", "0.5", "always observed"]),
        ("twice.txt", ["line 2", "ann -> bob", "0.5"]),
        ("binary.dat", ["not text"]),
        ("missing.txt", ["No such file"]),
        ("good.txt/below", ["Not a directory"]),
        ("folder", ["directory"]),
    ],
)
def test_bad_graph_files(bad_files: Path, head: str, file: str, words: list[str]) -> None:
    args = {
        "inspect": ["inspect", "--beta", "1,1", "--beta", "1,1", "--json"],
        "simulate": [*SIMULATE, "--json"],
    }[head]
    message = refused(bad_files, [*args, "--graph", f"file:{file}"])
    assert all(word in message for word in [file, *words])


@pytest.mark.skipif(not LINUX, reason="a file that nobody can read is a matter of Linux")
def test_a_graph_file_that_gives_an_error_when_read(place: Path) -> None:
    message = refused(place, [*SIMULATE, "--graph", "file:/proc/self/mem"])
    assert "cannot read" in message
    assert "/proc/self/mem" in message


@pytest.mark.skipif(ROOT, reason="root may read everything")
def test_a_graph_file_without_permission(place: Path) -> None:
    secret = place / "secret.txt"
    secret.write_text("ann bob\n")
    secret.chmod(0)
    result = RUNNER.invoke(app, [*SIMULATE, "--graph", "file:secret.txt"])
    secret.chmod(0o600)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: cannot read the graph file secret.txt: ")


def test_no_graph_file_named(place: Path) -> None:
    assert "file" in refused(place, [*SIMULATE, "--graph", "file:"])


@pytest.mark.parametrize(
    ("beta", "words"),
    [
        *((f"{value},1", [value, "number from", "to"]) for value in ("0", "-1", "nan", "inf")),
        *((f"1,{value}", [value, "number from", "to"]) for value in ("0", "-2", "nan", "-inf")),
        ("1e300,1", ["1e+300", "number from"]),
        ("1e-300,1", ["1e-300", "number from"]),
        ("1e-4,1", ["from 0.001 to 1e+09, not 0.0001"]),
        ("1,2e9", ["from 0.001 to 1e+09, not 2e+09"]),
        *(
            (text, [f"'{text}'", "two numbers A,B"])
            for text in ("1", "a,b", "1,2,3", "", "1,", ",")
        ),
        ("1;2", ["'1;2'", "two numbers A,B"]),
    ],
)
def test_bad_priors(place: Path, beta: str, words: list[str]) -> None:
    args = ["inspect", "--beta", "1,1", "--beta", beta, "--graph", "empty"]
    message = refused(place, args)
    assert all(word in message for word in words)
    assert refused(place, [*args, "--json"]) == message


@pytest.mark.parametrize(
    ("graph", "betas", "words"),
    [
        ("file:good.txt", 2, ["3 arms", "2", "--beta"]),
        ("file:good.txt", 4, ["3 arms", "4", "--beta"]),
        ("paper", 2, ["5 arms", "2", "--beta"]),
        ("grid(columns=2)", 3, ["multiple of 2", "3"]),
    ],
)
def test_the_number_of_betas_must_be_that_of_the_arms(
    bad_files: Path, graph: str, betas: int, words: list[str]
) -> None:
    message = refused(bad_files, ["inspect", *["--beta", "1,1"] * betas, "--graph", graph])
    assert all(word in message for word in words)
    assert "leave out" not in message  # inspect has no option for the number of arms


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--policy ids-m", ["unknown policy 'ids-m'", "did you mean 'ids-n'", "ts-n-sampled"]),
        ("--policy IDS-N", ["unknown policy 'IDS-N'", "ids-n"]),
        ("--policy thompson", ["unknown policy 'thompson'", "ts-n"]),
        ("--policy ids_lp", ["unknown policy 'ids_lp'", "did you mean 'ids-lp'"]),
        ("--policy ts-n(draws=5)", ["'ts-n'", "no parameter 'draws'", "none"]),
        ("--policy ts-n(5)", ["ts-n(5)", "key=value"]),
        ("--policy ts-n(", ["'ts-n('", "name(key=value"]),
        ("--policy eps-greedy-lp(c={c})", ["{c} is a placeholder", "experiment file"]),
        ("--policy ids-n", ["'ids-n'", "twice"]),
        ("--policy ids-n()", ["'ids-n'", "twice"]),
        ("--policy=", ["policy ''", "name"]),
        ("--graph sta", ["unknown graph 'sta'", "did you mean 'star'", "paper", "ring"]),
        ("--graph edges.txt", ["unknown graph 'edges.txt'", "Known"]),
        ("--graph star(way=in)", ["'star'", "no parameter 'way'", "direction"]),
        ("--graph paper(size=3)", ["'paper'", "no parameter 'size'", "none"]),
        ("--graph star(direction=up)", ["'up'", "both", "out", "in"]),
        ("--graph cliques", ["'cliques'", "needs size", "cliques(size=...)"]),
        ("--graph cliques(size=0)", ["size", "at least 1", "0"]),
        ("--graph cliques(size=2.5)", ["size", "whole number", "2.5"]),
        ("--graph cliques(size=1,size=2)", ["'size'", "twice"]),
        ("--graph grid(columns=3)", ["multiple of 3", "5"]),
        ("--graph random(r=1.5)", ["r", "[0, 1]", "1.5"]),
        ("--graph random(r=nan)", ["r", "[0, 1]", "nan"]),
        ("--graph random(r=[0.5,0.5])", ["2 rounds", "3"]),
        ("--graph random(r=none)", ["r", "[0, 1]"]),
        ("--graph revealed-er(p=-1)", ["p", "[0, 1]", "-1"]),
        ("--graph ring(directed=maybe)", ["directed", "true", "maybe"]),
        ("--graph revealed-er(shared=5)", ["shared", "true", "5"]),
        ("--graph=", ["graph ''", "name"]),
        ("--arms 4", ["'paper'", "5 arms", "4"]),
        ("--graph file:good.txt --arms 4", ["3 arms", "4"]),
        (f"--graph star({'x' * 300}=1)", ["'star'", "no parameter"]),
        (f"--graph star --arms {10**20}", ["arms must be at most 1000000000", str(10**20)]),
        ("--graph star --arms 0", ["arms", "at least 1", "0"]),
        ("--graph star --arms -2", ["arms", "at least 1", "-2"]),
        ("--trials 0", ["trials", "at least 1", "0"]),
        ("--trials -3", ["trials", "at least 1", "-3"]),
        ("--horizon 0", ["horizon", "at least 1", "0"]),
        ("--horizon -1", ["horizon", "at least 1", "-1"]),
        ("--workers 0", ["workers", "at least 1", "0"]),
        ("--workers -1", ["workers", "at least 1", "-1"]),
        ("--seed -1", ["seed", "at least 0", "-1"]),
        ("--trials x", ["--trials", "'x'"]),
        ("--trials 2.5", ["--trials", "'2.5'"]),
        ("--horizon many", ["--horizon", "'many'"]),
        ("--seed now", ["--seed", "'now'"]),
        ("--trials", ["--trials", "argument"]),
        ("--rounds 5", ["--rounds"]),
        ("extra", ["extra"]),
    ],
)
def test_bad_simulations(bad_files: Path, options: str, words: list[str]) -> None:
    message = refused(bad_files, [*SIMULATE, *split(options)])
    assert all(word in message for word in words)
    assert refused(bad_files, [*SIMULATE, "--json", *split(options)]) == message


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("nonsense", ["command", "'nonsense'"]),
        ("simulat", ["'simulat'", "simulate"]),
        ("--nonsense", ["option", "--nonsense"]),
        ("simulate --graph paper --horizon 3 --trials 2", ["Missing", "--policy"]),
        ("simulate --policy ids-n --horizon 3 --trials 2", ["Missing", "--graph"]),
        ("simulate --policy ids-n --graph paper --trials 2", ["Missing", "--horizon"]),
        ("simulate --policy ids-n --graph paper --horizon 2", ["Missing", "--trials"]),
        ("inspect --graph star", ["Missing", "--beta"]),
        ("inspect --beta 1,1", ["Missing", "--graph"]),
        ("inspect --beta 1,1 --graph sta", ["unknown graph 'sta'", "'star'"]),
        (f"run {'x' * 300}", ["unknown experiment", "Known"]),
        (f"check {'x' * 300}", ["neither a Python file nor a known name"]),
        ("list nonsense", ["'nonsense'", "policies", "graphs", "experiments"]),
        ("list policy", ["'policy'", "did you mean 'policies'"]),
        ("list policies graphs", ["graphs"]),
        ("list --all", ["--all"]),
    ],
)
def test_bad_commands(place: Path, args: str, words: list[str]) -> None:
    message = refused(place, split(args))
    assert all(word in message for word in words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--figure 3a", ["unknown figure '3a'", "1a", "1b", "2a", "2b"]),
        ("--figure 1", ["unknown figure '1'", "1a"]),
        ("--figure 1a --figure 1A", ["unknown figure '1A'", "1a"]),
        ("--figure 1a --trials 0", ["trials", "at least 1", "0"]),
        ("--figure 1a --trials -3", ["trials", "at least 1", "-3"]),
        ("--figure 1a --trials x", ["--trials", "'x'"]),
        ("--figure 1a --workers 0", ["workers", "at least 1", "0"]),
        ("--figure 1a --seed -1", ["seed", "at least 0", "-1"]),
        ("--figure 1a --trials 2 --output good.txt", ["cannot write good.txt"]),
        ("--figure 1a --trials 2 --output good.txt/below", ["cannot write good.txt/below"]),
        ("--figure 1a --policy ids-n", ["--policy"]),
        ("1a", ["1a"]),
    ],
)
def test_bad_reproductions(bad_files: Path, short: None, options: str, words: list[str]) -> None:
    message = refused(bad_files, ["reproduce", *split(options)])
    assert all(word in message for word in words)


@pytest.mark.skipif(not LINUX, reason="/proc is a matter of Linux")
def test_an_output_where_nobody_can_write(place: Path, short: None) -> None:
    message = refused(place, ["reproduce", "--trials", "2", "--output", "/proc/graphbandits"])
    assert "cannot write /proc/graphbandits" in message


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
@pytest.mark.parametrize("below", ["", "/new"])
def test_an_output_without_permission(place: Path, short: None, below: str) -> None:
    (place / "locked").mkdir(mode=0o500)
    message = refused(place, ["reproduce", "--trials", "2", "--output", f"locked{below}"])
    assert f"cannot write locked{below}: Permission denied" in message


@pytest.mark.parametrize("taken", ["figure-1a-plays.svg/x", "figure-1a.png/x", "summary.json/x"])
def test_an_output_whose_names_are_taken_is_refused_before_anything_runs(
    place: Path, short: None, taken: str
) -> None:
    path = place / "figures" / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    message = refused(place, ["reproduce", "--figure", "1a", "--trials", "2"])
    assert taken.split("/")[0] in message


@pytest.mark.parametrize(
    "args",
    [
        ["simulate", "--nonsense"],
        [*SIMULATE, "--trials", "0"],
        ["inspect", "--beta", "0,1", "--graph", "empty", "--json"],
        ["reproduce", "--figure", "9"],
    ],
    ids=lambda args: args[0],
)
def test_a_real_process_refuses_in_one_line(place: Path, args: list[str]) -> None:
    done = command(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"Error: [^\n]+\n", done.stderr)
    assert tree(place) == {}


def test_a_real_process_answers_with_nothing_but_json() -> None:
    done = command(*SIMULATE, "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert read_json(done.stdout) == answer(*SIMULATE)
