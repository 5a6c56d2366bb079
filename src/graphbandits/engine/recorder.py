"""Information ratios of a run, recorded while it is played."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphbandits.engine.loop import run_block
from graphbandits.engine.recording import Recording
from graphbandits.engine.shard import Plays, Ratios, Shard
from graphbandits.gains import information_ratio, joint_gain
from graphbandits.gains.ratio import entropy
from graphbandits.graphs import Feedback, Process
from graphbandits.policies import Policy
from graphbandits.posteriors import Observations, Posterior
from graphbandits.posteriors.options import strictest
from graphbandits.rng import Keys
from graphbandits.types import Floats, Ints, State
from graphbandits.worlds import World


class Recorder:
    """Keeps the information ratios at the recorded rounds, by a posterior of its own.

    So they are defined for every policy: given all that it has observed. They are quotients of
    small numbers, and so the statistics are of the strictest accuracy there is.
    """

    def __init__(self, posterior: Posterior, gain: str, trials: int, record: Ints) -> None:
        self._posterior, self._gain, self._record = strictest(posterior), gain, record
        self._state: State = posterior.init(trials)
        self._sum = np.zeros(trials)
        self._column = 0
        kept = (trials, len(record))
        self.ratios = Ratios(*(np.empty(kept) for _ in range(4)))

    def decided(self, t: int, graph: Feedback, pi: Floats) -> None:
        """Add this round's ratio; keep all if the round is one that is recorded."""
        beliefs = self._posterior.beliefs(self._state)
        bound = graph.gain(beliefs.h)
        joint = self._gain == "joint"
        gain = joint_gain(self._posterior, self._state, graph) if joint else bound
        ratio = information_ratio(pi, beliefs.delta, gain)
        self._sum += np.where(np.isnan(ratio), 0.0, ratio)
        if t == self._record[self._column]:
            kept = self.ratios
            kept.ratio[:, self._column] = ratio
            kept.ratio_sum[:, self._column] = self._sum
            kept.psi[:, self._column] = information_ratio(beliefs.alpha, beliefs.delta, bound)
            kept.entropy[:, self._column] = entropy(beliefs.alpha)
            self._column += 1

    def observed(self, t: int, seen: Observations) -> None:
        """Learn what the policy could have learned."""
        self._state = self._posterior.update(self._state, seen)


def run_recorded(
    policy: Policy,
    world: World,
    process: Process,
    horizon: int,
    keys: Keys,
    recording: Recording,
    advance: Callable[[int], None] = lambda rounds: None,
) -> Shard:
    """Run a block, and keep what is to be recorded."""
    record, recorder = recording.record, None
    if recording.ratios is not None:
        recorder = Recorder(world.prior, recording.ratios, keys.trials, record)
    realised = recording.regret == "realised"
    played = run_block(policy, world, process, horizon, keys, record, realised, advance, recorder)
    ratios = None if recorder is None else recorder.ratios
    return Shard(keys.first_trial, played.regret, Plays.of(played.plays), ratios)
