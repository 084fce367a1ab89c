"""The manual's examples run, and the package says of itself what is so."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import kumiki_lab as lab

ROOT = Path(__file__).parents[3]


def test_the_ten_lines_of_the_manual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("polars")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert len([line for line in blocks[0].splitlines() if line]) <= 10
    exec(blocks[0], names)
    result = names["result"]
    assert isinstance(result, lab.Result) and len(result.scenario.points) == 100
    assert (tmp_path / "goodput.svg").read_text().startswith("<svg")
    assert capsys.readouterr().out.startswith("shape: (4, 2)")


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sweep.py"])
    result = runpy.run_path(str(ROOT / "examples" / "sweep.py"))["result"]
    assert len(result.scenario.points) == 12 and (tmp_path / "fairness.svg").is_file()
    shown = capsys.readouterr()
    assert "shape: (3, 3)" in shown.out and shown.err.endswith("\n") and "12 of 12 points" in shown.err


def test_everything_public_says_what_it_is() -> None:
    undocumented = [
        name for name in lab.__all__ if name not in {"Value", "__version__"} and not getattr(lab, name).__doc__
    ]
    assert undocumented == []
    assert (Path(lab.__file__).parent / "py.typed").is_file()
