"""Dask as the engine of sweeps: points go out, journals come back.

A task has as many points as take about a second, as far as that is known from those before: a task
costs Dask some hundred microseconds. No more are handed out than the workers need to be busy, so
that tasks fit what was learned and the last ones end together.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _kumiki
from ._scenario import Point, Scenario

if TYPE_CHECKING:
    from distributed import Client

_SECONDS = 1.0
"""What a task is to take."""
_AHEAD = 2
"""So many tasks are handed out for each thread of the workers."""

_Came = tuple[str, list[tuple[str, bytes]], float]


@lru_cache(maxsize=4)
def _job(state: Scenario._State, digest: str) -> _kumiki.Job:
    """A worker reads a scenario and its profiles once; again where ``digest`` says that the profiles are others."""
    return _kumiki.Job(Scenario._of(state)._work, None, False, False, "", "")


def points(state: Scenario._State, digest: str, places: Sequence[int]) -> _Came:
    """On a worker: runs these points, and gives what they brought, and how many seconds it took."""
    began = time.monotonic()
    job = _job(state, digest).empty()
    job.run(1, frozenset(places), None)
    text, files = job.sent()
    return text, files, time.monotonic() - began


class _Queue:
    """The points that are to be handed out, and what they cost."""

    def __init__(self, places: Sequence[int], costs: Sequence[float]) -> None:
        self._places = deque(places)
        self._costs = costs
        self._cost_done = 0.0
        self._seconds_done = 0.0

    def learn(self, places: Sequence[int], seconds: float) -> None:
        self._cost_done += sum(self._costs[place] for place in places)
        self._seconds_done += seconds

    def left_s(self, in_flight: Sequence[int]) -> float | None:
        """How many seconds of one thread are left."""
        if self._cost_done <= 0:
            return None
        left = sum(self._costs[place] for places in (self._places, in_flight) for place in places)
        return left * self._seconds_done / self._cost_done

    def batch(self, threads: int) -> list[int]:
        """The next points; one alone for as long as it is not known how long one takes."""
        left_s = self.left_s(())
        batch: list[int] = []
        spent_s = 0.0
        while self._places:
            if batch and (left_s is None or spent_s >= min(_SECONDS, left_s / threads / 2)):
                break
            place = self._places.popleft()
            batch.append(place)
            if left_s is not None:
                spent_s += self._costs[place] * self._seconds_done / self._cost_done
        return batch


def spread(
    job: _kumiki.Job,
    state: Scenario._State,
    all_points: Sequence[Point],
    client: Client,
    hear: Callable[[int, int, str, float | None], object] | None,
) -> None:
    """Has the workers of `client` run what is missing of `job`."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    if client.asynchronous:
        raise ValueError("the client is asynchronous; a sweep waits for its results")
    missing = job.missing()
    digest = job.digest()
    queue = _Queue(missing, [point.cost for point in all_points])
    done = len(all_points) - len(missing)
    in_flight: dict[Any, list[int]] = {}
    # With these workers were lost. Dask blames whatever a worker had before it, so that they may be guilty of nothing: at the end each is run alone.
    suspects: deque[int] = deque()
    is_alone = False
    ended = as_completed()

    def hand_out(places: list[int]) -> None:
        future = client.submit(points, state, digest, places, pure=False)
        in_flight[future] = places
        ended.add(future)

    def fill() -> int:
        nonlocal is_alone
        # Workers come and go.
        threads: int = max(1, sum(client.nthreads().values()))
        while len(in_flight) < _AHEAD * threads and (batch := queue.batch(threads)):
            hand_out(batch)
        if not in_flight and suspects:
            is_alone = True
            hand_out([suspects.popleft()])
        return threads

    try:
        fill()
        for future in ended:
            places = in_flight.pop(future)
            seconds = 0.0
            try:
                text, files, seconds = future.result()
                job.put(text, files)
            except KilledWorker as why:
                if not is_alone:
                    suspects.extend(places)
                    fill()
                    continue
                job.fail(places[0], f"the worker that ran it was lost: {why}")
            finally:
                future.release()
            queue.learn(places, seconds)
            threads = fill()
            done += len(places)
            if hear is not None:
                left_s = queue.left_s([place for places in in_flight.values() for place in places])
                hear(done, len(all_points), all_points[places[-1]].label, None if left_s is None else left_s / threads)
    finally:
        # Where something has ended this, nobody waits for them.
        if in_flight:
            client.cancel(list(in_flight))
