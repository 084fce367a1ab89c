"""Is a bottleneck shared fairly, whatever the queue? A study over queues and seeds, as cells of a notebook: see docs/python.md.

Give it the address of a Dask scheduler to spread it over the workers there: python examples/sweep.py tcp://head:8786
"""

# %% A scenario is text; what is to be varied stands in [vary].
import sys

import kumiki_lab as lab
import polars as pl

scenario = lab.Scenario.from_text(
    """
title = "Four flows through one queue"

[host.s]
count = 4
graph = ["tcp", "ip", "l0"]

[host.r]
graph = { tcp = ["ip"], ip = ["l0", "l1", "l2", "l3", "out"] }
ip.forwarding = true

[host.d]
graph = ["tcp", "ip", "l0"]

[link.access]
count = 4
ends = ["s${i}.l0", "r.l${i}"]
medium = "point-to-point"
rate = "100 Mb/s"
propagation = "1 ms"

[link.shared]
ends = ["r.out", "d.l0"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "5 ms"
queue_frames = "${queue}"

[load.bulk]
kind = "netperf"
from = "s*.tcp"
to = "d.tcp"
message = "8 KiB"

[run]
warm_up = "1 s"
duration = "2 s"
seed = "${draw}"

[report]
x = "queue"
value = "jain"

[vary]
queue = [10, 20, 50]
draw = "1 .. 4"
""",
    name="fairness",
)

# %% Its points, and what each will cost beside the others.
for point in scenario.points[:3]:
    print(point.label, round(point.cost))

# %% Run it: here, or on a cluster.
if len(sys.argv) > 1:
    from distributed import Client

    with Client(sys.argv[1]) as client:
        result = lab.sweep(scenario, client, progress=True)
else:
    result = lab.run(scenario, progress=True)

# %% Jain's index by queue, over all seeds.
total = result.to_polars().filter(pl.col("scope") == "total")
print(total.group_by("queue", maintain_order=True).agg(pl.col("jain").mean(), pl.col("goodput_mbps").mean()))

# %% What the queue has dropped, from the counters.
drops = result.counters.to_polars().filter(pl.col("counter").str.contains("drop"), pl.col("value") > 0)
print(
    drops.join(total.select("point", "queue"), on="point")
    .group_by("queue", "counter")
    .agg(pl.col("value").sum())
    .sort("queue")
)

# %% The figure, and all files of the command.
result.figures[0].save("fairness.svg")
