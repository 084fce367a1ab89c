"""What the tests share."""

import os
import subprocess
from pathlib import Path

import pytest

import kumiki_lab as lab

SMALL = """
title = "Two loads on one line"

[host.a]
graph = ["tcp", "ip", "l0"]

[host.b]
like = "a"

[link.line]
ends = ["a", "b"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "1 ms"
queue_frames = 20
impair = { toward = "b.l0", loss = "${loss}" }

[load.bulk]
kind = "netperf"
from = "a.tcp"
to = "b.tcp"
message = "8 KiB"
socket_buffer = "${window}"

[load.other]
kind = "netperf"
from = "a.tcp"
to = "b.tcp"
message = "1 KiB"
sessions = 2

[run]
warm_up = "100 ms"
duration = "200 ms"
interval = "50 ms"

[report]
x = "window"
rows = { window = "window_bytes" }

[vary]
loss = [0, 0.01]
window = ["8 KiB", "16 KiB", "64 KiB"]
"""


@pytest.fixture(scope="session")
def small() -> lab.Scenario:
    return lab.Scenario.from_text(SMALL, name="small")


@pytest.fixture(scope="session")
def result(small: lab.Scenario) -> lab.Result:
    return lab.run(small, jobs=2)


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory):
    """Runs `kumiki` in a directory that has small.toml."""
    program = os.environ.get("KUMIKI_PROGRAM")
    if not program:
        pytest.skip("KUMIKI_PROGRAM names no kumiki")
    folder = tmp_path_factory.mktemp("command")
    (folder / "small.toml").write_text(SMALL)

    def run(*words: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        return folder, subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)

    return run
