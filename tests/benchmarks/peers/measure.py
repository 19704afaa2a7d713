"""Times: contestants of one case come in, seconds a call of each in each round go out."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping

from tests.benchmarks.peers.contestants import Contestant

SLOT = 0.003  # seconds that one contestant runs in one round, or one call if that is longer
PAUSE = 0.0005  # lets threads of the one before, which wait actively for a while, go to sleep
FEWEST = 5


def seconds(contestant: Contestant, calls: int) -> float:
    """Seconds a call; one before is not timed, so that data are near and threads awake."""
    call, repeat = contestant.call, range(calls)
    call()
    start = time.perf_counter()
    for _ in repeat:
        call()
    return (time.perf_counter() - start) / calls


def interleaved(
    contestants: Mapping[str, Contestant], rounds: int, limit: float
) -> dict[str, list[float]]:
    """Round by round each contestant runs for about `SLOT`, in turning order.

    `limit` seconds end it early, after no fewer than `FEWEST` rounds.
    """
    names = list(contestants)
    repeats = {}
    for name, contestant in contestants.items():
        with contestant.within():
            repeats[name] = max(1, round(SLOT / max(1e-7, seconds(contestant, 3))))
    times: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.freeze()
    gc.disable()
    start = time.perf_counter()
    try:
        for done in range(rounds):
            if done >= FEWEST and time.perf_counter() - start > limit:
                break
            turn = done % len(names)
            order = names[turn:] + names[:turn]
            for name in order if done % 2 else reversed(order):
                time.sleep(PAUSE)
                with contestants[name].within():
                    times[name].append(seconds(contestants[name], repeats[name]))
            gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()
    return times
