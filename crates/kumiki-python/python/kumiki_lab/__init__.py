"""Network experiments in virtual time: scenarios in, Arrow tables and figures out.

    import kumiki_lab as lab

    result = lab.run("theory-window", set={"rtt": ["10 ms", "20 ms"]})
    result.to_polars()       # or polars.DataFrame(result), pyarrow.table(result)
    result.figures[0]        # a notebook shows it
    result.save("out")       # the files that the command writes

`sweep` does the same on a Dask cluster.
"""

from ._kumiki import ResultError, ScenarioError, __version__
from ._result import Figure, Result, Table, Verdict
from ._run import Interrupted, PointsFailed, Progress, run, sweep
from ._scenario import Point, Scenario, Value, scenarios

__all__ = [
    "Figure",
    "Interrupted",
    "Point",
    "PointsFailed",
    "Progress",
    "Result",
    "ResultError",
    "Scenario",
    "ScenarioError",
    "Table",
    "Value",
    "Verdict",
    "__version__",
    "run",
    "scenarios",
    "sweep",
]
