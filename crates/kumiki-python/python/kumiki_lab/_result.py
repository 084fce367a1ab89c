"""Results: rows, tables, figures, verdicts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _kumiki

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._scenario import Scenario


class Table:
    """A table whose columns have a type each, for whoever reads Arrow: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)`` and others take it as it is, and share its memory.
    """

    def __init__(self, make: Callable[[], _kumiki.Table]) -> None:
        self._make = make

    @cached_property
    def _table(self) -> _kumiki.Table:
        # Not before somebody asks: whose columns are not of a type each may still have the rows.
        return self._make()

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self._table.column_names

    def to_polars(self) -> polars.DataFrame:
        """A frame of polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame of pandas; pandas takes it from pyarrow, which has to be there too."""
        return self.to_arrow().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_schema__(self) -> Any:
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<kumiki_lab.Table of {len(self)} rows: {', '.join(self.columns)}>"


@dataclass(frozen=True)
class Figure:
    """A figure, which a notebook shows."""

    name: str
    """Of its file, without ``.svg``."""
    title: str
    """What stands above it."""
    svg: str
    """The figure."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes it as SVG, and says where."""
        path = Path(path)
        path.write_text(self.svg, encoding="utf-8")
        return path

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<kumiki_lab.Figure {self.name}: {self.title}>"


@dataclass(frozen=True)
class Verdict:
    """What a paper says, with what came out here: the fields are those of ``verdicts.jsonl``."""

    paper: int | None
    scenario: str
    figure: str
    statement: str
    number: str
    at: str
    source: str
    value: float | None
    least: float | None
    most: float | None
    ours: float | None
    difference: float | None
    unit: str
    verdict: str
    fitted: bool
    ours_reading: bool


class Result(Table):
    """What came of a run. As a table it has the rows: a row for each run, load and flow."""

    def __init__(self, scenario: Scenario, outcome: _kumiki.Outcome) -> None:
        super().__init__(lambda: outcome.table("rows"))
        self.scenario = scenario
        """What was run."""
        self._outcome = outcome

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as the lines of ``rows.jsonl``, with queues and counters in them."""
        return [json.loads(line) for line in self._outcome.rows().splitlines()]

    @cached_property
    def queues(self) -> Table:
        """How long queues were: a row for each queue of each run."""
        return Table(lambda: self._outcome.table("queues"))

    @cached_property
    def counters(self) -> Table:
        """What layers and lines counted: a row for each counter of each run."""
        return Table(lambda: self._outcome.table("counters"))

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures that the command draws."""
        return [Figure(*parts) for parts in self._outcome.figures()]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """What the paper says that the scenario repeats, and whether it holds here."""
        return [Verdict(**json.loads(line)) for line in self._outcome.verdicts().splitlines()]

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The points that failed: which, and why."""
        return self._outcome.failures()

    @property
    def left(self) -> int:
        """How many points were not run, since something ended it before."""
        return self._outcome.left()[0]

    @property
    def files(self) -> dict[str, bytes]:
        """What single runs wrote, by name: series over time, where the scenario has an ``interval``."""
        return dict(self._outcome.files())

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it came from: version, machine, time, scenario with everything put in, as in ``run.json``."""
        provenance: dict[str, Any] = json.loads(self._outcome.provenance)
        return provenance

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
        """Writes the files that the command writes, and says which; replaces an older result only with ``force``."""
        return self._outcome.write(Path(directory), force)

    def __str__(self) -> str:
        return self._outcome.text()

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto">{self._outcome.html()}</div>'

    def __repr__(self) -> str:
        left, points = self._outcome.left()
        more = [f"{len(self.rows)} rows"]
        more += [f"{left} points left"] if left else []
        more += [f"{len(self.failures)} points failed"] if self.failures else []
        return f"<kumiki_lab.Result of {self.scenario.name}: {points} points, {', '.join(more)}>"
