"""A cluster of several processes on this machine."""

import os
import signal
import sys
from pathlib import Path

import pytest

import kumiki_lab as lab
from kumiki_lab import _dask
from kumiki_lab._dask import _Queue

from conftest import SMALL

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")


@pytest.fixture(scope="module")
def cluster():
    # A machine that is busy is no machine that is lost.
    limits = {f"distributed.comm.timeouts.{what}": "200s" for what in ["connect", "tcp"]}
    with (
        dask.config.set(limits),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
    ):
        yield cluster


def test_a_worker_that_is_lost_costs_nothing_but_its_points(cluster, small: lab.Scenario, tmp_path: Path) -> None:
    scenario = small.with_set({"window": [f"{n} KiB" for n in range(8, 38)]})
    whole = lab.run(scenario)
    with distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        dones: list[int] = []

        def hear(step: lab.Progress) -> None:
            dones.append(step.done)
            if len(dones) == 3:
                os.kill(victim, signal.SIGKILL)

        result = lab.sweep(scenario, client, progress=hear, out=tmp_path / "out")
        assert victim not in client.run(os.getpid).values()
    assert dones == sorted(dones) and dones[-1] == 60
    whole.save(tmp_path / "whole")
    for name in ["rows.jsonl", "rows.csv", "figures/small.svg", "captures/small/059-series.csv"]:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert result._outcome.rows() == whole._outcome.rows()


def test_a_point_that_kills_its_workers_costs_itself_alone(
    cluster, small: lab.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = _dask.points

    def deadly(state: lab.Scenario._State, digest: str, places: list[int]) -> object:
        if 3 in places:
            os.kill(os.getpid(), signal.SIGKILL)
        return ours(state, digest, places)

    monkeypatch.setattr(_dask, "points", deadly)
    # Nobody runs it a second time.
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    # The workers have no path to this file.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        distributed.Client(cluster) as client,
        pytest.warns(
            lab.PointsFailed, match="1 of 6 points failed:\n  loss 0.01, window 8 KiB: the worker that ran it was lost"
        ),
    ):
        result = lab.sweep(small, client)
    whole = lab.run(small)
    frame, all_rows = result.rows, whole.rows
    assert frame == all_rows[:18] + all_rows[24:] and result.left == 0


def test_what_ends_a_sweep_has_what_had_come_before(
    cluster, small: lab.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = _dask.points

    def lacking(state: lab.Scenario._State, digest: str, places: list[int]) -> object:
        # The last one is handed out when the first has come.
        if 5 in places:
            raise ModuleNotFoundError("No module named 'kumiki_lab'")
        return ours(state, digest, places)

    monkeypatch.setattr(_dask, "points", lacking)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with distributed.Client(cluster) as client:
        with pytest.raises(ModuleNotFoundError) as raised:
            lab.sweep(small, client)
        assert 0 < raised.value.result.left < 6
        monkeypatch.undo()
        resumed = lab.sweep(small, client, resume=raised.value.result)
    assert resumed._outcome.rows() == lab.run(small)._outcome.rows()


def test_workers_that_live_on_read_a_profile_again_that_was_changed(cluster, tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    text = SMALL.replace("[host.a]", f'[host.a]\nprofile = "{profile}"')
    rows = []
    with distributed.Client(cluster) as client:
        for price in ["60 us", "600 us"]:
            profile.write_text(
                'title = "Mine"\nabout = "One price."\n[task.all]\nnodes = ["tcp", "ip", "l0", "bulk", "other"]\nfrom = "assumed"\n'
                f'[price.tcp]\npop = {{ value = "{price}", from = "assumed" }}\n'
            )
            scenario = lab.Scenario.from_text(text, name="small")
            rows.append(lab.sweep(scenario, client)._outcome.rows())
            assert rows[-1] == lab.run(scenario)._outcome.rows()
    assert rows[0] != rows[1]


def test_batches_take_a_second_and_end_together() -> None:
    queue = _Queue(range(1000), [2.0] * 1000)
    assert queue.batch(4) == [0]
    queue.learn([0], 0.125)
    assert len(queue.batch(4)) == 8
    sizes = []
    while batch := queue.batch(4):
        sizes.append(len(batch))
    assert sum(sizes) == 991 and max(sizes) == 8 and sizes[-1] == 1 and sizes == sorted(sizes, reverse=True)
