"""Reports of the health of an agent, computed from the entries of its journal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphbandits._types import Floats
from graphbandits.graphs.processes import Fixed
from graphbandits.live.evidence import ArmEvidence, SequentialTest
from graphbandits.live.health import ArmAnswers, ArmTest, Health, PosteriorTest, age_text
from graphbandits.live.journal import Entry
from graphbandits.live.state import (
    MOST_TOGETHER,
    AgentState,
    OpenDecision,
    outcomes_of,
    unpack_learned,
)
from graphbandits.posteriors import is_discounted
from graphbandits.posteriors._capabilities import keeps_posterior
from graphbandits.posteriors._natural import natural_family
from graphbandits.registry import name_of

#: Number of arms in the tables of a report, and in a warning.
MOST_ARMS, MOST_NAMED = 10, 3
#: Largest ratio in a report, so that it is a number of JSON.
MOST_RATIO = 1e300
#: Least number of outcomes in a row with the same value that are reported.
LEAST_IN_ROW = 20
#: Share of late outcomes above which there is a warning, and their least number.
LATE_SHARE, LEAST_LATE = 0.1, 10
#: What no test can find.
MISSING = (
    "answers that are missing, or late, because of their value cannot be detected, and bias what "
    "the agent learns"
)


class HealthRecord:
    """What a report of the health needs from the journal: entries are added in their order.

    Parameters
    ----------
    state : AgentState
        State before the first entry, which the record changes. What its policy has learned is the
        prior of the test.
    first : int, default=0
        Number of the first entry of the journal, if it is stored: when older entries are removed,
        the record is not valid any more.
    """

    def __init__(self, state: AgentState, first: int = 0) -> None:
        self._state, self.first = state, first
        self._unanswered = 0
        #: Decisions that were closed, by what they reveal: an example, and their number.
        self._closed: dict[Any, tuple[OpenDecision, int]] = {}
        self._revealed = np.zeros(len(state.setup.arms))
        self._received = Counter[int]()
        self._certain = True
        #: Arms of outcomes that open decisions did not reveal.
        self._extra: dict[int, set[int]] = {}
        #: Arm, reward, weight and time of outcomes that the test does not have yet.
        self._new: list[tuple[int, float, float, float]] = []
        self._begin_test(fresh=not state.counts["outcomes"] + state.counts["learned"])

    @property
    def last(self) -> tuple[int, float]:
        """Number and time of the last entry."""
        return self._state.number, self._state.time

    def _begin_test(self, fresh: bool) -> None:
        """Begin a test, from the prior or from what was learned."""
        setup, arrays = self._state.setup, self._state.policy_state
        self._test: SequentialTest | None = None
        self._reason, start = "", None
        family = natural_family(setup.posterior)
        kind = f"the posterior '{name_of(setup.posterior)}'"
        if family is None and is_discounted(setup.posterior):
            self._reason = f"{kind} forgets old outcomes, and so gives them no probability"
        elif family is None:
            self._reason = f"{kind} gives outcomes no exact probability"
        elif not fresh and not keeps_posterior(arrays, setup.posterior):
            self._reason = (
                "the first outcomes are not in the journal any more, and the policy "
                f"'{name_of(setup.policy)}' keeps no posterior"
            )
        else:
            start = None if fresh else family.of_state(arrays)
            self._test = SequentialTest(family, start)

    # Entries --------------------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry], get: Callable[[str], bytes]) -> None:
        """Add entries of the journal; ``get`` returns a stored object."""
        state = self._state
        for entry in entries:
            body, kind, decision = entry.body, entry.kind, None
            if kind in ("observe", "close"):
                decision = state.open.get(entry.decision or 0)
                if decision is not None and not body.get("late"):
                    self._add_outcomes(entry, decision)
            elif kind == "learn":
                self._learn(entry)
            elif kind in ("reset", "add_arm", "set_policy"):
                self._flush()
            state.follow(entry, get)
            if decision is not None and body["closes"]:
                self._close(decision, body.get("reason"))
            elif kind == "add_arm":
                self._revealed = np.append(self._revealed, 0.0)
                family = natural_family(state.setup.posterior)
                if self._test is not None and family is not None:
                    self._test.add_arm(family)
            elif kind == "reset":
                self._begin_test(fresh=True)
        self._flush()
        self._count_revealed()

    def _add_outcomes(self, entry: Entry, decision: OpenDecision) -> None:
        for arm, (reward, weight) in outcomes_of(entry.body).items():
            self._new.append((arm, reward, weight, entry.time))
        if extra := entry.body.get("extra"):
            self._extra.setdefault(decision.number, set()).update(extra)
        if len(self._new) >= MOST_TOGETHER:
            self._flush()

    def _learn(self, entry: Entry) -> None:
        self._flush()
        seen = unpack_learned(entry)
        weight = np.ones(len(seen.arm)) if seen.weight is None else seen.weight
        if self._test is not None:
            time = np.full(len(seen.arm), entry.time)
            self._test.add(seen.arm, seen.reward, weight, time)

    def _flush(self) -> None:
        """Add the outcomes so far to the test, in one call instead of thousands."""
        if self._new and self._test is not None:
            arm, *rest = (np.array(one) for one in zip(*self._new, strict=True))
            self._test.add(arm, *(one.astype(np.float64) for one in rest))
        self._new = []

    def _close(self, decision: OpenDecision, reason: str | None) -> None:
        extra = self._extra.pop(decision.number, set())
        if reason == "reset":  # its outcomes were not expected any more
            return
        self._unanswered += not decision.seen
        self._received.update(arm for arm in decision.seen if arm not in extra)
        key: Any = decision.number
        if isinstance(decision.process, Fixed):
            gone = self._state.retired.values()
            key = decision.process, decision.arm, sum(made < decision.number for made in gone)
        example, count = self._closed.get(key, (decision, 0))
        self._closed[key] = example, count + 1
        if len(self._closed) >= MOST_TOGETHER:
            self._count_revealed()

    def _count_revealed(self) -> None:
        """Add up what the closed decisions reveal."""
        for example, count in self._closed.values():
            reach = self._state.reach(example)
            self._revealed[: len(reach)] += count * reach
            self._certain = self._certain and bool(((reach == 0.0) | (reach == 1.0)).all())
        self._closed.clear()

    # Report ---------------------------------------------------------------------------------------

    def report(self, now: float, level: float) -> Health:
        """Return the health at a time, with tests of a level."""
        state = self._state
        due = [one for one in state.open.values() if one.is_due(now)]
        waiting = [one for one in state.open.values() if not one.is_due(now)]
        ages = [max(0.0, now - one.time) for one in waiting]  # clocks of processes may differ
        counts = state.counts
        test, (answers, few) = self._tested(level), self._answers(level)
        warnings = [
            *self._contradictions(test, level),
            *_late_warning(counts["late"], counts["outcomes"], state.lifetime),
        ]
        # a hint only: these tests are not sequential, and a report is made at any time
        notes = [*few, MISSING]
        if test is None:
            notes.insert(0, f"the outcomes were not compared with the posterior: {self._reason}")
        return Health(
            level,
            tuple(warnings),
            tuple(notes),
            state.decisions,
            len(ages),
            counts["expired"] + len(due),
            self._unanswered + sum(not one.seen for one in due),
            counts["outcomes"],
            counts["learned"],
            counts["late"],
            max(ages, default=None),
            float(np.median(ages)) if ages else None,
            test,
            answers,
        )

    def _tested(self, level: float) -> PosteriorTest | None:
        test = self._test
        if test is not None and test.failed:
            self._test, self._reason = None, "an outcome is too extreme for the computation"
        if test is None or test.failed:
            return None
        time = None if test.time is None else datetime.fromtimestamp(test.time, UTC)
        arms = self._state.setup.arms
        return PosteriorTest(
            test.outcomes,
            _ratio(test.highest()),
            _ratio(test.now()),
            time,
            1.0 / level,
            test.highest() >= -math.log(level),
            tuple(
                ArmTest(
                    arms[one.arm or 0],
                    one.outcomes,
                    _ratio(one.highest),
                    _ratio(one.now),
                    _ratio(one.threshold),
                    one.suffices,
                    one.posterior_mean,
                    one.recent_mean,
                )
                for one in test.arms(level, MOST_ARMS)
            ),
        )

    def _contradictions(self, found: PosteriorTest | None, level: float) -> list[str]:
        """Return warnings if the outcomes contradict the posterior, those of all arms first."""
        test = self._test
        if test is None or found is None or not found.contradicts:
            return []
        arms, lines = self._state.setup.arms, list[str]()
        # fewer in a row than before are not unusual for this agent
        stuck = test.in_row >= LEAST_IN_ROW and test.in_row > test.in_row_before
        if stuck:
            lines.append(
                f"the last {test.in_row} outcomes are all {test.last:g}: check how outcomes are "
                "recorded"
            )
        guilty = [one for one in test.arms(level, MOST_NAMED) if one.suffices]
        together = test.together(level)
        # a change of one arm is evidence of all arms together, too: what do the others add?
        alone = max((one.highest for one in guilty), default=0.0)
        if not guilty or together.highest - alone >= together.threshold:
            enough = f" (warning from {_shown(together.threshold)})" if together.suffices else ""
            lines.append(
                "the outcomes contradict the posteriors of all arms together: they are "
                f"{_shown(together.highest)} times more likely {_alternative(together)}{enough}"
                + ("" if stuck else f"; {_advice(together)}")
            )
        lines += [
            f"the outcomes of {arms[one.arm or 0]} contradict its posterior: they are "
            f"{_shown(one.highest)} times more likely {_alternative(one)} (warning from "
            f"{_shown(one.threshold)}; posterior mean {one.posterior_mean:.3g}, recent mean "
            f"{one.recent_mean:.3g})" + ("" if stuck else f"; {_advice(one)}")
            for one in guilty
        ]
        more = test.sufficient(level) - len(guilty)
        return [*lines, f"so do the outcomes of {more} more arms"] if more else lines

    def _answers(self, level: float) -> tuple[tuple[ArmAnswers, ...], list[str]]:
        """Return the lowest shares of answers, significant ones first, and a warning of these."""
        arms = np.flatnonzero(self._revealed)
        revealed = self._revealed[arms]
        received = np.array([self._received[arm] for arm in arms.tolist()], np.float64)
        low = low_shares(revealed, received, level, self._certain)
        share, names = received / revealed, self._state.setup.arms
        shown = tuple(
            ArmAnswers(
                names[arms[i]], float(revealed[i]), int(received[i]), float(share[i]), bool(low[i])
            )
            for i in np.lexsort((share, ~low))[:MOST_ARMS].tolist()
        )
        count = int(low.sum())
        if not count:
            return shown, []
        few = [f"{one.arm} ({one.received} of {one.revealed:.4g})" for one in shown if one.low]
        more = f" and {count - MOST_NAMED} more arms" if count > MOST_NAMED else ""
        return shown, [
            f"few answers for {', '.join(few[:MOST_NAMED])}{more}: of all arms "
            f"{received.sum():.0f} of {revealed.sum():.4g} outcomes were received; check how these "
            "outcomes are recorded"
        ]


def low_shares(
    revealed: Floats, received: Floats, level: float, certain: bool
) -> NDArray[np.bool_]:
    """Return which arms have a significantly lower share of answers than the other arms.

    If all revealed outcomes are certain, this is the exact test of Fisher for each arm against all
    others. Otherwise the numbers are compared as numbers of rare events: given the number of all
    answers, that of one arm is binomial. The levels are divided by the number of arms.

    >>> low_shares(np.array([50.0, 50.0]), np.array([20.0, 45.0]), 0.01, certain=True)
    array([ True, False])
    """
    if len(revealed) < 2:
        return np.zeros(len(revealed), bool)
    from scipy.stats import binom, hypergeom

    every, answers = revealed.sum(), received.sum()
    if certain:
        chance = hypergeom.cdf(received, round(every), answers, np.rint(revealed))
    else:
        chance = binom.cdf(received, answers, revealed / every)
    return np.asarray(chance <= level / len(revealed))


def _late_warning(late: int, outcomes: int, lifetime: float | None) -> list[str]:
    if late < LEAST_LATE or late < LATE_SHARE * (late + outcomes):
        return []
    now = "" if lifetime is None else f" (now {age_text(lifetime)})"
    return [
        f"{late} of {late + outcomes} outcomes came after their decision had ended, and were not "
        f"learned; consider a longer time 'expires'{now}"
    ]


def _alternative(found: ArmEvidence) -> str:
    if found.kept == 1.0:
        return "under a weaker prior"
    return f"if older outcomes are forgotten, by the factor {found.kept:g} for each new one"


def _advice(found: ArmEvidence) -> str:
    if found.kept == 1.0:
        return "check how outcomes are recorded, and consider another prior"
    return "check how outcomes are recorded, and consider a discount, or reset()"


def _ratio(log: float) -> float:
    return MOST_RATIO if log >= math.log(MOST_RATIO) else math.exp(log)


def _shown(log: float) -> str:
    """Return a ratio in words.

    >>> _shown(math.log(2345.6)), _shown(100.0)
    ('2,300', '3e+43')
    """
    if log >= math.log(1e6):
        exponent, digit = divmod(log / math.log(10.0), 1.0)
        return f"{10.0**digit:.0f}e+{exponent:.0f}"
    ratio = math.exp(log)
    places = 1 - math.floor(math.log10(ratio))
    return f"{round(ratio, places):,.{max(places, 0)}f}"
