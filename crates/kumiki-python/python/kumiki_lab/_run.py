"""Running: here, or on a cluster."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Union

from . import _kumiki
from ._result import Result
from ._scenario import Scenario, Value

if TYPE_CHECKING:
    from distributed import Client


class Progress(NamedTuple):
    """How far a run is."""

    done: int
    """How many points have ended."""
    total: int
    """Of how many."""
    label: str
    """Which one was the last."""
    left_s: float | None
    """How long it will still take, in seconds, where that is known."""


Hear = Union[Callable[[Progress], object], bool, None]
"""Whom to tell of progress: a function, ``True`` for a line on standard error, nobody."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. What had ended by then is in ``result``, and ``run(..., resume=result)`` goes on.

    Whatever else ends a run is raised as it is, with the same attribute ``result``.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"{result.left} of {len(result.scenario.points)} points are left")
        self.result = result


class PointsFailed(UserWarning):
    """Some points ran and failed; the others are in the result."""


def run(
    scenario: Scenario | str | os.PathLike[str],
    *,
    set: Mapping[str, Value] | None = None,
    jobs: int | None = None,
    progress: Hear = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool | Result = False,
    force: bool = False,
) -> Result:
    """Runs a scenario on this machine, ``jobs`` points at a time (as many as there are processors).

    With ``out`` each point is kept in that directory as it ends, and everything else is written
    there at the end, as by ``kumiki run --out``: ``resume=True`` goes on after whatever has ended
    the process, ``force=True`` replaces an older result. Without, a result that was interrupted
    goes on with ``resume=result``.

    Ctrl-C raises `Interrupted` at once; points that are under way are lost, and their threads end
    with them. What ``progress`` raises ends the run as well, and has what had ended by then in its
    attribute ``result``. Points that fail do not end the others: they are `Result.failures`, and a
    warning.
    """
    return _run(_scenario(scenario, set), progress, out, resume, force, lambda job, hear: job.run(jobs, None, hear))


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    client: Client | None = None,
    *,
    set: Mapping[str, Value] | None = None,
    jobs: int | None = None,
    progress: Hear = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool | Result = False,
    force: bool = False,
) -> Result:
    """The same on the workers of a Dask cluster; without ``client`` as `run`.

    Points go to workers in batches of about a second. What a worker had under way when it was lost
    is run again by another, so the rows are those of `run`, octet for octet. Workers need this
    package in this version, and, each under the same path, the files that the scenario names: its
    profiles, which have to say the same there, and its traces. They need nothing else of it. A
    point that takes its workers with it is one that failed; whatever else ends the sweep has what
    had come by then in its attribute ``result``.
    """
    if client is None:
        return run(scenario, set=set, jobs=jobs, progress=progress, out=out, resume=resume, force=force)
    if jobs is not None:
        raise ValueError("jobs: how many points are run at a time is said where the cluster is made")
    from ._dask import spread

    scenario = _scenario(scenario, set)
    points = scenario.points
    state = scenario._state
    return _run(scenario, progress, out, resume, force, lambda job, hear: spread(job, state, points, client, hear))


_Hear = Callable[[int, int, str, Union[float, None]], object]


def _run(
    scenario: Scenario,
    progress: Hear,
    out: str | os.PathLike[str] | None,
    resume: bool | Result,
    force: bool,
    work: Callable[[_kumiki.Job, _Hear | None], object],
) -> Result:
    if resume is not False and force:
        raise ValueError("resume and force: either go on with what is there, or replace it")
    if resume is True and out is None:
        raise ValueError("resume=True goes on with the directory `out`, which is not given")
    if isinstance(resume, Result) and out is not None:
        raise ValueError(
            "a result in memory does not go on in a directory: resume=result without out, or save it and resume=True"
        )
    started = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    directory = None if out is None else Path(out)
    job = _kumiki.Job(scenario._work, directory, resume is True, force, scenario.command, started)
    if isinstance(resume, Result):
        job.know(resume._outcome)
    try:
        work(job, _hearer(progress))
    except KeyboardInterrupt:
        result = Result(scenario, job.end())
        if result.left:
            raise Interrupted(result) from None
        return result
    except BaseException as error:
        _attach(error, scenario, job)
        raise
    result = Result(scenario, job.end())
    failures = result.failures
    if failures:
        lines = "".join(f"\n  {label}: {why}" if label else f"\n  {why}" for label, why in failures)
        every = len(scenario.points)
        points = "point" if every == 1 else "points"
        warnings.warn(f"{len(failures)} of {every} {points} failed:{lines}", PointsFailed, stacklevel=3)
    return result


def _attach(error: BaseException, scenario: Scenario, job: _kumiki.Job) -> None:
    """Gives an error what had ended before it, as its attribute ``result``."""
    # What ended the run matters more than that this is not possible: a full disk, an exception with slots.
    with suppress(_kumiki.ResultError, AttributeError, TypeError):
        result = Result(scenario, job.end())
        setattr(error, "result", result)
        points = len(scenario.points)
        # Python 3.11.
        if result.left < points and hasattr(error, "add_note"):
            error.add_note(f"{points - result.left} of {points} points had ended: they are this exception's `result`")


def _scenario(scenario: Scenario | str | os.PathLike[str], set: Mapping[str, Value] | None) -> Scenario:
    if not isinstance(scenario, Scenario):
        return Scenario.load(scenario, set=set)
    return scenario.with_set(set) if set else scenario


def _hearer(progress: Hear) -> _Hear | None:
    if progress is None or progress is False:
        return None
    tell = _line if progress is True else progress
    return lambda done, total, label, left_s: tell(Progress(done, total, label, left_s))


def _line(step: Progress) -> None:
    left = "" if step.left_s is None else f", about {step.left_s:.0f} s left"
    end = "\n" if step.done == step.total else ""
    text = f"{step.done} of {step.total} points{left}"
    sys.stderr.write(f"\r{text:<60}{end}")
    sys.stderr.flush()
