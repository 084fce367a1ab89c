"""What comes out is what the command gives, in types that Python works with."""

import json
import pickle
import signal
import threading
from pathlib import Path

import pytest

import kumiki_lab as lab

from conftest import SMALL

# The journal is in the order in which points ended and says how long they took, run.json when that was, and the page shows run.json.
UNLIKE = {"journal.jsonl", "run.json", "report.html"}


def files(folder: Path) -> dict[str, bytes]:
    return {str(it.relative_to(folder)): it.read_bytes() for it in folder.rglob("*") if it.is_file()}


def test_what_is_saved_is_what_the_command_writes(result: lab.Result, command, tmp_path: Path) -> None:
    folder, ended = command("run", "small.toml", "--out", "out")
    assert ended.returncode == 0, ended.stderr
    theirs = files(folder / "out")
    result.save(tmp_path)
    ours = files(tmp_path)
    assert sorted(ours) == sorted(theirs)
    assert "captures/small/005-series.csv" in ours
    for name in ours.keys() - UNLIKE:
        assert ours[name] == theirs[name], name
    assert [json.dumps(row) for row in result.rows] == [
        json.dumps(json.loads(line)) for line in theirs["rows.jsonl"].splitlines()
    ]
    assert result.files == {name: octets for name, octets in ours.items() if name.startswith("captures/")}
    assert json.loads(ours["run.json"])["command"] == "kumiki run small.toml"
    # The command goes on with it: nothing is left to be run.
    folder, ended = command("run", "small.toml", "--out", str(tmp_path), "--resume")
    assert ended.returncode == 0 and "6 of 6 points are in" in ended.stderr, ended.stderr


def test_what_is_replaced_is_what_set_replaces(command) -> None:
    chosen = {"loss": 0, "window": ["8 KiB", "12 KiB"], "link.line.rate": "5 Mb/s", "load.other.sessions": 1}
    result = lab.run(lab.Scenario.from_text(SMALL, name="small"), set=chosen)
    words = ["loss=0", 'window=["8 KiB", "12 KiB"]', "link.line.rate=5 Mb/s", "load.other.sessions=1"]
    assert list(result.scenario.set) == words
    folder, ended = command("run", "small.toml", "--out", "set", *[word for text in words for word in ("--set", text)])
    assert ended.returncode == 0, ended.stderr
    assert result._outcome.rows().encode() == (folder / "set" / "rows.jsonl").read_bytes()
    points = result.scenario.points
    assert [point.values for point in points] == [{"loss": 0, "window": "8 KiB"}, {"loss": 0, "window": "12 KiB"}]
    assert all(point.cost > 0 for point in points)


def test_numbers_of_other_libraries_are_numbers(small: lab.Scenario) -> None:
    class Shown(float):
        def __repr__(self) -> str:
            return "shown(0.5)"

    class Item:
        def item(self) -> int:
            return 3

    chosen = {"loss": [Shown(0.5), 1e-05], "load.other.sessions": Item(), "link.line.impair": {"loss": True}}
    texts = ("loss=[0.5, 1e-05]", "load.other.sessions=3")
    assert small.with_set({name: chosen[name] for name in list(chosen)[:2]}).set == texts
    with pytest.raises(TypeError, match="a scenario has texts, numbers"):
        small.with_set({"loss": [None]})
    with pytest.raises(lab.ScenarioError, match="link.line.impair"):
        small.with_set({"link.line.impair": chosen["link.line.impair"]})


@pytest.mark.parametrize("name", ["point", "held.loss", "seed"])
def test_no_varied_name_is_that_of_another_column(name: str) -> None:
    text = SMALL.replace('window = "window_bytes"', f'window = "{name}"')
    with pytest.raises(lab.ScenarioError, match="or tables a column, of that name"):
        lab.Scenario.from_text(text)


@pytest.mark.parametrize("text", ["window=8 parsecs", "link.lime.rate=5 Mb/s", "nonsense=1"])
def test_what_is_wrong_is_said_as_the_command_says_it(command, text: str) -> None:
    name, value = text.split("=")
    with pytest.raises(lab.ScenarioError) as raised:
        lab.Scenario.from_text(SMALL, name="small", set={name: value})
    _, ended = command("run", "small.toml", "--set", text)
    assert ended.returncode != 0 and str(raised.value) in ended.stderr
    with pytest.raises(ValueError, match="did you mean theory-window"):
        lab.Scenario.load("theory-windows")


def test_a_scenario_goes_to_another_process_whole(small: lab.Scenario) -> None:
    scenario = small.with_set({"loss": 0})
    again = pickle.loads(pickle.dumps(scenario))
    assert again.points == scenario.points and again.command == scenario.command == "kumiki run small.toml --set loss=0"
    assert lab.Scenario.load("theory-window").command == "kumiki run theory-window"
    assert "theory-window" in lab.scenarios()


def test_columns_have_a_type_each(result: lab.Result) -> None:
    polars = pytest.importorskip("polars")
    frame = result.to_polars()
    assert frame.equals(polars.DataFrame(result)) and frame.height == len(result) == len(result.rows)
    types = {
        "point": polars.Int64,
        "window_bytes": polars.Int64,
        "loss": polars.Float64,
        "goodput_mbps": polars.Float64,
    }
    types |= {
        "scope": polars.String,
        "fitted": polars.Boolean,
        "paper": polars.Int64,
        "held.send buffer": polars.Float64,
    }
    assert {name: frame.schema[name] for name in types} == types
    for name in ["seed", "octets", "goodput_mbps", "jain", "load", "flow"]:
        assert frame[name].to_list() == [row[name] for row in result.rows]
    assert frame["round_trip_ms.p95"].to_list() == [row["round_trip_ms"].get("p95") for row in result.rows]
    # Which columns there are does not follow from what was measured.
    assert (
        lab.run(result.scenario, set={"loss": 0.5, "window": "8 KiB", "run.duration": "1 ms"}).to_polars().schema
        == frame.schema
    )
    total = [row for row in result.rows if row["scope"] == "total"]
    counters = result.counters.to_polars()
    counted = [
        (layer, name, value)
        for row in total
        for layer, values in row["counters"].items()
        for name, value in values.items()
    ]
    assert counters.select("layer", "counter", "value").rows() == counted
    assert counters["point"].unique(maintain_order=True).to_list() == list(range(6))
    assert result.queues.to_polars()["mean"].to_list() == [it["mean"] for row in total for it in row["queues"].values()]


def test_a_column_of_words_and_numbers_is_refused_and_its_rows_are_there() -> None:
    text = SMALL.replace("loss = [0, 0.01]", 'loss = [0, "1 %"]').replace('window = "window_bytes"', 'loss = "loss"')
    result = lab.run(lab.Scenario.from_text(text, set={"window": "8 KiB"}))
    assert len(result.rows) == 12
    with pytest.raises(TypeError, match='column "loss" has the number 0 and the word'):
        result.to_polars()


def test_parquet_of_the_command_is_the_same_table(result: lab.Result, command) -> None:
    polars = pytest.importorskip("polars")
    if "--parquet" not in command("run", "--help")[1].stdout:
        pytest.skip("this kumiki was built without the feature parquet")
    folder, ended = command("run", "small.toml", "--out", "parquet", "--parquet")
    assert ended.returncode == 0, ended.stderr
    for name, table in [("rows", result), ("queues", result.queues), ("counters", result.counters)]:
        assert polars.read_parquet(folder / "parquet" / f"{name}.parquet").equals(table.to_polars()), name


def test_pandas_and_pyarrow_take_it(result: lab.Result) -> None:
    pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(result)
    assert table.num_rows == len(result.rows)
    # Two who take it share its memory.
    address = [pyarrow.table(result).column("goodput_mbps").chunk(0).buffers()[1].address for _ in range(2)]
    assert address[0] == address[1]
    assert result.to_pandas()["goodput_mbps"].tolist() == [row["goodput_mbps"] for row in result.rows]


def test_a_notebook_shows_it(result: lab.Result) -> None:
    figure = result.figures[0]
    assert figure.name == "small" and figure._repr_svg_().startswith("<svg")
    assert figure.svg in result._repr_html_() and "<script" not in result._repr_html_()
    assert "Two loads on one line" in str(result)
    assert repr(result) == "<kumiki_lab.Result of small: 6 points, 36 rows>"
    assert result.verdicts == [] and result.left == 0


def test_a_value_of_a_paper_is_judged() -> None:
    compare = '[[compare]]\nat = { loss = 0, window = "8 KiB" }\nvalue = 1\nfrom = "nowhere"\n'
    verdicts = lab.run(lab.Scenario.from_text(SMALL + compare, set={"loss": 0, "window": "8 KiB"})).verdicts
    assert [(it.verdict, it.value, it.source) for it in verdicts] == [("misses", 1.0, "nowhere")]


def test_progress_is_told_and_what_it_raises_ends_the_run(small: lab.Scenario) -> None:
    steps: list[lab.Progress] = []
    lab.run(small, jobs=1, progress=steps.append)
    assert [step.done for step in steps] == [1, 2, 3, 4, 5, 6] and {step.total for step in steps} == {6}
    assert steps[-1].label == "small, loss 0.01, window 64 KiB" and steps[0].left_s is not None

    def refuse(step: lab.Progress) -> None:
        raise LookupError(step.done)

    with pytest.raises(LookupError, match="1"):
        lab.run(small, progress=refuse)


def test_what_ends_a_run_has_what_had_ended_before(small: lab.Scenario, result: lab.Result, tmp_path: Path) -> None:
    class Slotted(Exception):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    def ends(error: BaseException, **options: Path) -> BaseException:
        def refuse(step: lab.Progress) -> None:
            if step.done == 2:
                raise error

        with pytest.raises(type(error)) as raised:
            lab.run(small, jobs=1, progress=refuse, **options)
        assert raised.value is error
        return error

    ends(Slotted())
    for number, kind in enumerate([LookupError, SystemExit]):
        for options in [{}, {"out": tmp_path / str(number)}]:
            error = ends(kind("enough"), **options)
            assert 0 < error.result.left < 6
            assert ["points had ended" in note for note in getattr(error, "__notes__", ["points had ended"])] == [True]
            assert lab.run(small, resume=error.result)._outcome.rows() == result._outcome.rows()


def test_a_run_that_goes_on_in_memory_has_the_files_of_the_directory_before(
    small: lab.Scenario, result: lab.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(step: lab.Progress) -> None:
        raise LookupError

    monkeypatch.chdir(tmp_path)
    with pytest.raises(LookupError) as raised:
        lab.run(small, jobs=1, out="out", progress=stop)
    # Other files of those names, where the process happens to be.
    (tmp_path / "elsewhere" / "captures" / "small").mkdir(parents=True)
    for name in result.files:
        (tmp_path / "elsewhere" / name).write_text("of somebody else")
    monkeypatch.chdir(tmp_path / "elsewhere")
    before = raised.value.result
    assert before.files and before.files.items() <= result.files.items()
    resumed = lab.run(small, resume=before)
    assert resumed.files == result.files
    resumed.save("saved")
    assert {name: (tmp_path / "elsewhere" / "saved" / name).read_bytes() for name in result.files} == result.files


def test_ctrl_c_keeps_what_has_ended_and_the_run_goes_on(small: lab.Scenario) -> None:
    scenario = small.with_set({"window": [f"{n} KiB" for n in range(8, 48)], "loss": 0})
    main = threading.main_thread().ident
    assert main is not None
    # A shell starts what runs in the background with this signal ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # Another thread can only run while the lock of the interpreter is free: while points run.
    other = threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as raised:
        lab.run(scenario, jobs=1, progress=lambda step: other.start() if step.done == 3 else None)
    other.join()
    signal.signal(signal.SIGINT, before)
    interrupted = raised.value
    assert isinstance(interrupted, lab.Interrupted)
    partial = interrupted.result
    assert 0 < partial.left < 40 and str(interrupted) == f"{partial.left} of 40 points are left"
    whole = lab.run(scenario)
    assert partial.rows == whole.rows[: len(partial.rows)]
    ran: list[lab.Progress] = []
    resumed = lab.run(scenario, resume=partial, progress=ran.append)
    assert resumed._outcome.rows() == whole._outcome.rows()
    assert len(ran) == partial.left


def test_a_directory_is_gone_on_with(small: lab.Scenario, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(step: lab.Progress) -> None:
        raise Enough

    with pytest.raises(Enough):
        lab.run(small, jobs=1, out=tmp_path / "out", progress=stop)
    with pytest.raises(lab.ResultError, match="already has a result"):
        lab.run(small, out=tmp_path / "out")
    with pytest.raises(ValueError, match="either go on"):
        lab.run(small, out=tmp_path / "out", resume=True, force=True)
    ran: list[lab.Progress] = []
    result = lab.run(small, out=tmp_path / "out", resume=True, progress=ran.append)
    assert 0 < len(ran) < 6
    result.save(tmp_path / "copy")
    ours, theirs = files(tmp_path / "copy"), files(tmp_path / "out")
    assert sorted(ours) == sorted(theirs)
    assert all(ours[name] == theirs[name] for name in ours if name != "journal.jsonl")


def test_points_that_fail_are_told(small: lab.Scenario) -> None:
    with pytest.warns(
        lab.PointsFailed, match="1 of 2 points failed:\n  loss 1, window 8 KiB: no connection was established"
    ):
        result = lab.run(small, set={"window": "8 KiB", "loss": [0, 1]})
    assert len(result.failures) == 1 and result.left == 0
    # What was measured until then is there, and says that it is of a point that failed.
    failed = {row["loss"] for row in result.rows if row["failed"]}
    assert failed == {1} and {row["loss"] for row in result.rows if not row["failed"]} == {0}


def test_a_table_of_failed_points_alone_has_what_is_varied(small: lab.Scenario) -> None:
    with pytest.warns(lab.PointsFailed):
        failed = lab.run(small, set={"window": "8 KiB", "loss": [1, 0.999999]}).to_polars()
    whole = lab.run(small, set={"window": "8 KiB", "loss": [0, 0.01]}).to_polars()
    assert len(failed) == 12 and failed["failed"].all() and not whole["failed"].any()
    assert failed.columns == whole.columns and failed.schema == whole.schema
