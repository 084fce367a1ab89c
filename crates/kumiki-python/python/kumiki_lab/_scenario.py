"""Scenarios: what is to be run."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

from . import _kumiki

Value = Union[str, int, float, bool, Sequence["Value"], Mapping[str, "Value"]]
"""A value of a scenario: as in TOML."""


def scenarios() -> dict[str, str]:
    """The scenarios that are built in: their names, each with its title."""
    return dict(_kumiki.scenarios())


@dataclass(frozen=True)
class Point:
    """One combination of what is varied."""

    index: int
    """Its number among those of the scenario, from 0: the column ``point`` of tables."""
    label: str
    """What is varied, in words."""
    values: Mapping[str, Value]
    """What is varied, as the scenario writes it."""
    cost: float
    """What it is expected to cost beside other points; in no unit."""


class Scenario:
    """An experiment as data, with what is chosen for it. Every point of it is known to be runnable.

    ``set`` replaces values, as ``--set`` of the command does: a name that is defined or varied
    (``{"window": ["8 KiB", "64 KiB"]}``), or a path (``{"link.line.rate": "10 Mb/s"}``). ``quick``
    takes the shorter values of ``[quick]``, ``runs`` the most runs of a point where the scenario
    asks for a fixed number.

    Raises `ScenarioError`, which says where, what, and what would be right.
    """

    def __init__(
        self, work: _kumiki.ChosenScenario, set: Sequence[str] = (), quick: bool = False, runs: int | None = None
    ) -> None:
        self._work = work
        self._set = tuple(set)
        self._quick = quick
        self._runs = runs

    @classmethod
    def load(
        cls,
        scenario: str | os.PathLike[str],
        *,
        set: Mapping[str, Value] | None = None,
        quick: bool = False,
        runs: int | None = None,
    ) -> Scenario:
        """A file, where it has a slash or ends in ``.toml``, or one that is built in."""
        name = os.fspath(scenario)
        if not isinstance(scenario, str) and "/" not in name and not name.endswith(".toml"):
            name = os.path.join(".", name)
        chosen = _texts(set)
        return cls(_kumiki.ChosenScenario.find(name, chosen, quick, runs), chosen, quick, runs)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        name: str = "scenario",
        set: Mapping[str, Value] | None = None,
        quick: bool = False,
        runs: int | None = None,
    ) -> Scenario:
        """TOML. Results call it by its name."""
        return cls._of((name, f"{name}.toml", text, tuple(_texts(set)), quick, runs))

    def with_set(self, set: Mapping[str, Value]) -> Scenario:
        """The same with further values replaced."""
        name, file, text, before, quick, runs = self._state
        return self._of((name, file, text, (*before, *_texts(set)), quick, runs))

    @property
    def name(self) -> str:
        """What results call it."""
        return self._work.name

    @property
    def title(self) -> str:
        """What it says that it is."""
        return self._work.title

    @property
    def text(self) -> str:
        """As it was read."""
        return self._work.text

    @property
    def set(self) -> tuple[str, ...]:
        """What was replaced, each as ``--set`` writes it."""
        return self._set

    @cached_property
    def points(self) -> list[Point]:
        """All combinations of what is varied, less those that are skipped, in the order of the rows."""
        points = self._work.points()
        return [Point(index, label, values, cost) for index, (label, values, cost) in enumerate(points)]

    @property
    def command(self) -> str:
        """The command line that runs it, but for where its file is."""
        words = ["kumiki", "run", os.path.basename(self._work.file) if self._is_file else self.name]
        for text in self._set:
            words += ["--set", text]
        words += ["--quick"] if self._quick else []
        words += ["--runs", str(self._runs)] if self._runs is not None else []
        return shlex.join(words)

    @property
    def _is_file(self) -> bool:
        return self._work.file != f"scenarios/{self.name}.toml"

    _State = tuple[str, str, str, tuple[str, ...], bool, "int | None"]

    @property
    def _state(self) -> _State:
        work = self._work
        return work.name, work.file, work.text, self._set, self._quick, self._runs

    @classmethod
    def _of(cls, state: _State) -> Scenario:
        name, file, text, chosen, quick, runs = state
        return cls(_kumiki.ChosenScenario(name, file, text, chosen, quick, runs), chosen, quick, runs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scenario._of, (self._state,)

    def __repr__(self) -> str:
        chosen = "".join(f", {text}" for text in self._set)
        return f"<kumiki_lab.Scenario {self.name}{chosen}: {len(self.points)} points>"


def _texts(values: Mapping[str, Value] | None) -> list[str]:
    """As ``--set`` writes them."""
    return [f"{name}={_text(value)}" for name, value in (values or {}).items()]


def _text(value: Value) -> str:
    """A text alone stands for itself, as on the command line."""
    return value if isinstance(value, str) else _toml(value)


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # What JSON escapes, TOML escapes alike.
        return json.dumps(value, ensure_ascii=False)
    # Those of numpy are numbers with a text of their own.
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    # A number of another library, numpy's for example, is the number that it is equal to.
    for kind in (int, float):
        if hasattr(value, "item") and isinstance(value.item(), kind):
            return _toml(value.item())
    raise TypeError(
        f"{value!r} is a {type(value).__name__}; a scenario has texts, numbers, switches, lists and tables of them"
    )
