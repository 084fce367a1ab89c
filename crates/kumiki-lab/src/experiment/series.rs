//! Values over time: of loads, flows and queues, at the end of each interval.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{Address, Duration, Instant};
use kumiki_inet::tcp::Snapshot;
use kumiki_link::{CellRate, Occupancy};
use kumiki_sim::{HostId, World};
use kumiki_wire::atm::cell::Vc;
use serde::{Deserialize, Serialize};

use super::ends::TransferEnds;
use super::flows::{self, Pair, matched, progress, tcps};
use super::load::{Kind, Load};
use super::occupied::Carry;
use crate::figure::{Axis, Figure, Point, Series, Shape};
use crate::scenario::Happening;

/// What was seen over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Samples(pub Vec<Sample>);

/// What a value over time is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleOf {
    /// Of a load.
    Load,
    /// Of one of its flows.
    Flow,
    /// Of a queue.
    Queue,
    /// Of a channel whose rate the network says.
    Channel,
}

impl SampleOf {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Load, Self::Flow, Self::Queue, Self::Channel];

    /// The word in a line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Flow => "flow",
            Self::Queue => "queue",
            Self::Channel => "channel",
        }
    }
}

/// One line of a series: what was so in the interval that ended at its time, or at that time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The end of the interval, in seconds since the beginning of the run, the warm-up included.
    pub time_s: f64,
    /// What it is of.
    pub scope: SampleOf,
    /// The load, the queue as `line.a`, `switch.0` or `ring.host`, or the channel as `host.device VC 0/100`.
    pub name: String,
    /// The number of the flow among those of its load.
    pub flow: Option<u32>,
    /// The host that writes.
    pub from: Option<String>,
    /// What was read in the interval, in 10^6 bit/s.
    pub goodput_mbps: Option<f64>,
    /// The congestion window, in octets.
    pub cwnd_octets: Option<u64>,
    /// The slow start threshold, in octets; `None` as long as nothing was lost.
    pub ssthresh_octets: Option<u64>,
    /// The window that the reader offers, in octets.
    pub snd_wnd_octets: Option<u32>,
    /// The smoothed round-trip time, in milliseconds.
    pub srtt_ms: Option<f64>,
    /// Segments retransmitted in the interval; of a load by all of its flows.
    pub retransmissions: Option<u64>,
    /// How many frames the queue held, of a switch for cells how many cells, the mean over the interval.
    pub queue_mean: Option<f64>,
    /// The most that it held.
    pub queue_max: Option<u64>,
    /// What it had no room for in the interval, or was dropped for a long queue.
    pub drops: Option<u64>,
    /// What was marked in the interval.
    pub marks: Option<u64>,
    /// For what part of the interval what is behind the queue was sending.
    pub busy: Option<f64>,
    /// The rate at which the channel may send (ACR), in cells per second.
    pub acr_cps: Option<u64>,
}

impl Sample {
    fn of(time: Instant, scope: SampleOf, name: &str) -> Self {
        Self {
            time_s: time.saturating_since(Instant::ZERO).as_secs_f64(),
            scope,
            name: name.to_owned(),
            flow: None,
            from: None,
            goodput_mbps: None,
            cwnd_octets: None,
            ssthresh_octets: None,
            snd_wnd_octets: None,
            srtt_ms: None,
            retransmissions: None,
            queue_mean: None,
            queue_max: None,
            drops: None,
            marks: None,
            busy: None,
            acr_cps: None,
        }
    }
}

/// Takes samples.
pub(super) struct Sampler {
    interval: Duration,
    last: Instant,
    next: Instant,
    /// What each flow had brought and retransmitted, by load.
    flows: BTreeMap<String, Vec<(u64, u64)>>,
    queues: BTreeMap<String, Occupancy>,
    counted: BTreeMap<String, Counted>,
    /// For how long beyond the last look each line carries what has been counted when it began.
    carried: BTreeMap<String, Carry>,
    samples: Vec<Sample>,
}

impl Sampler {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            last: Instant::ZERO,
            next: Instant::ZERO + interval,
            flows: BTreeMap::new(),
            queues: BTreeMap::new(),
            counted: BTreeMap::new(),
            carried: BTreeMap::new(),
            samples: Vec::new(),
        }
    }

    /// When the interval ends.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn finish(self) -> Samples {
        Samples(self.samples)
    }

    /// Looks at everything, and begins the next interval.
    pub(super) fn take(
        &mut self,
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        (loads, ends): (&BTreeMap<String, Load>, &TransferEnds),
    ) {
        for (name, load) in loads {
            self.load(world, hosts, (name, load), ends);
        }
        self.queues(world);
        self.channels(world);
        (self.last, self.next) = (self.next, self.next + self.interval);
    }

    /// How much of what has been counted of a line is in this interval: a frame counts whole when it begins, and what
    /// of it is beyond the end is the next one's.
    fn within(&mut self, name: &str, counted: Duration) -> Duration {
        let interval = self.next.saturating_since(self.last);
        self.carried.entry(name.to_owned()).or_default().within(counted, interval)
    }

    fn rate_mbps(&self, octets: u64) -> f64 {
        let time = self.next.saturating_since(self.last).as_secs_f64();
        super::measure::lossy(octets) * 8.0 / time / 1e6
    }

    fn load(
        &mut self,
        world: &World,
        hosts: &BTreeMap<String, HostId>,
        (name, load): (&str, &Load),
        ends: &TransferEnds,
    ) {
        let sinks = progress(world, hosts, load);
        let mut states: BTreeMap<&str, BTreeMap<Pair, Snapshot>> = BTreeMap::new();
        let sent = flows::retransmissions(world, hosts, load, ends);
        let mut earlier = self.flows.remove(name).unwrap_or_default();
        let mut sum = 0;
        let mut sum_again = None;
        let mut of_flows = Vec::new();
        for (number, flow) in matched(world, hosts, load, &sinks).into_iter().enumerate() {
            let octets = flow.place.and_then(|(sink, at)| sinks.get(sink)?.get(at)).map_or(0, |it| it.octets);
            let pair = flows::pair_of(world, hosts, load, &flow.writer);
            let answers = sent.get(&(pair.1, pair.0)).filter(|_| load.is_of_exchanges());
            let again = sent.get(&pair).map(|own| own + answers.unwrap_or(&0));
            let state = states.entry(flow.from).or_insert_with(|| snapshots(world, hosts, flow.from)).get(&pair);
            if earlier.len() <= number {
                earlier.resize(number + 1, (0, 0));
            }
            let Some(before) = earlier.get_mut(number) else {
                continue;
            };
            let (came, sent_again) = (octets.saturating_sub(before.0), again.map(|it| it.saturating_sub(before.1)));
            *before = (octets, again.unwrap_or(before.1));
            sum += came;
            if let Some(sent_again) = sent_again {
                *sum_again.get_or_insert(0) += sent_again;
            }
            of_flows.push(Sample {
                flow: u32::try_from(number).ok(),
                from: Some(flow.from.to_owned()),
                goodput_mbps: Some(self.rate_mbps(came)),
                cwnd_octets: state.map(|it| it.cwnd).filter(bounded),
                ssthresh_octets: state.map(|it| it.ssthresh).filter(bounded),
                snd_wnd_octets: state.map(|it| it.snd_wnd),
                srtt_ms: state.and_then(|it| it.srtt).map(|it| it.as_secs_f64() * 1e3),
                retransmissions: sent_again,
                ..Sample::of(self.next, SampleOf::Flow, name)
            });
        }
        self.flows.insert(name.to_owned(), earlier);
        let of_load = Sample::of(self.next, SampleOf::Load, name);
        // Echoes have no goodput.
        let goodput_mbps = (load.kind != Kind::Ping).then(|| self.rate_mbps(sum));
        self.samples.push(Sample { goodput_mbps, retransmissions: sum_again, ..of_load });
        self.samples.extend(of_flows);
    }

    fn channels(&mut self, world: &World) {
        for (medium, channel, rate) in world.cell_rates() {
            let Some(vc) = channel.get::<Vc>() else {
                continue;
            };
            let name = format!("{} {vc}", medium.trim_end_matches(" SAR"));
            let acr_cps = Some(rate.parts() / CellRate::PARTS);
            self.samples.push(Sample { acr_cps, ..Sample::of(self.next, SampleOf::Channel, &name) });
        }
    }

    fn queues(&mut self, world: &World) {
        let mut held: BTreeMap<String, Occupancy> = BTreeMap::new();
        for (medium, queue, occupancy) in world.queues() {
            held.insert(format!("{medium}.{queue}"), occupancy);
        }
        let mut counted = Counted::all(world);
        counted.retain(|name, it| it.busy_ns.is_some() || held.contains_key(name));
        let names: BTreeSet<String> = held.keys().chain(counted.keys()).cloned().collect();
        for name in names {
            let own = held.remove(&name).map(|occupancy| {
                let earlier = self.queues.insert(name.clone(), occupancy.clone()).unwrap_or_default();
                occupancy.since(&earlier)
            });
            let now = counted.remove(&name).unwrap_or_default();
            let before = self.counted.insert(name.clone(), now).unwrap_or_default();
            let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
            let busy = since(now.busy_ns, before.busy_ns).map(|busy| self.within(&name, Duration::from_nanos(busy)));
            let interval = self.next.saturating_since(self.last).as_secs_f64();
            self.samples.push(Sample {
                queue_mean: own.as_ref().map(Occupancy::mean),
                queue_max: own.map(|own| own.quantile(1.0)),
                drops: since(now.drops, before.drops),
                marks: since(now.marks, before.marks),
                busy: busy.map(|busy| busy.as_secs_f64() / interval),
                ..Sample::of(self.next, SampleOf::Queue, &name)
            });
        }
    }
}

/// What has been counted of a queue since the beginning.
#[derive(Clone, Copy, Default)]
struct Counted {
    drops: Option<u64>,
    marks: Option<u64>,
    busy_ns: Option<u64>,
}

impl Counted {
    /// By the name of the queue: of the ends of lines, the ports of switches and the stations of rings. A ring has its
    /// own name, too.
    fn all(world: &World) -> BTreeMap<String, Self> {
        let mut all: BTreeMap<String, Self> = BTreeMap::new();
        for (line, counters) in world.media() {
            for (key, count) in counters {
                if let Some((end, what @ ("drops" | "marks" | "busy_ns"))) = key.split_once('_') {
                    all.entry(format!("{line}.{end}")).or_default().set(what, count);
                } else if key == "busy_ns" {
                    // One at a time sends on a ring.
                    all.entry(line.to_owned()).or_default().set(key, count);
                }
            }
        }
        for (switch, port, counters) in world.ports() {
            let own = all.entry(format!("{switch}.{port}")).or_default();
            for (key, count) in counters {
                own.set(if key == "efci" { "marks" } else { key }, count);
            }
        }
        all
    }

    fn set(&mut self, what: &str, count: u64) {
        match what {
            "drops" => self.drops = Some(count),
            "marks" => self.marks = Some(count),
            "busy_ns" => self.busy_ns = Some(count),
            _ => {}
        }
    }
}

/// A window; none where it is beyond what sequence numbers can count, which stands for "no bound".
const fn bounded(window: &u64) -> bool {
    *window < 1 << 32
}

/// How each connection of TCP on `host` stands.
fn snapshots(world: &World, hosts: &BTreeMap<String, HostId>, host: &str) -> BTreeMap<Pair, Snapshot> {
    let all = tcps(world, hosts, host).flat_map(|tcp| tcp.snapshots());
    all.map(|(local, remote, it)| ((Address::from(local), Address::from(remote)), it)).collect()
}

/// So many curves can be told apart.
const MOST_CURVES: usize = 8;

/// So many of those to whom something happens have a colour of their own.
const MOST_TOLD_APART: usize = 3;

/// The times until `end`, in seconds, at which something happens: a series for each to whom it does.
fn marks(happens: &[Happening], end: f64) -> Vec<Series> {
    let seen = || happens.iter().filter(|it| it.at.as_secs_f64() <= end);
    let are_few = seen().map(|it| &it.to).collect::<BTreeSet<_>>().len() <= MOST_TOLD_APART;
    let mut all: Vec<Series> = Vec::new();
    for it in seen() {
        let (label, said) =
            if are_few { (it.to.clone(), it.what.clone()) } else { ("what happens".to_owned(), it.to_string()) };
        let place = all.iter().position(|series| series.label == label).unwrap_or_else(|| {
            all.push(Series { label, shape: Shape::Mark, ..Series::default() });
            all.len() - 1
        });
        if let Some(series) = all.get_mut(place) {
            series.points.push(Point { said, ..Point::new(it.at.as_secs_f64(), 0.0) });
        }
    }
    all
}

impl Samples {
    /// All lines as CSV with a header.
    ///
    /// # Errors
    /// [`csv::Error`], which no sample gives cause for.
    pub fn to_csv(&self) -> Result<String, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        for sample in &self.0 {
            out.serialize(sample)?;
        }
        let octets = out.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&octets).into_owned())
    }

    /// What [`Samples::to_csv`] has written.
    ///
    /// # Errors
    /// [`csv::Error`] with the line that is none of it.
    pub fn of_csv(text: &str) -> Result<Self, csv::Error> {
        csv::Reader::from_reader(text.as_bytes()).deserialize().collect::<Result<_, _>>().map(Self)
    }

    /// Goodput, congestion windows, round trips, what was retransmitted, queues and what they had no room for over
    /// time, below each other: of all flows where they are few, else of loads; with marks where something `happens`.
    /// `label` says of which run, and stands above the first.
    #[must_use]
    pub fn figures(&self, label: &str, happens: &[Happening]) -> Vec<Figure> {
        let flows = self.names(SampleOf::Flow).len();
        let scope = if flows > MOST_CURVES { SampleOf::Load } else { SampleOf::Flow };
        let panels = [
            self.panel("goodput", "Mb/s", scope, |it| it.goodput_mbps),
            self.panel("congestion window", "KiB", SampleOf::Flow, |it| {
                it.cwnd_octets.map(|octets| super::measure::lossy(octets) / 1024.0)
            }),
            self.panel("smoothed round trip", "ms", SampleOf::Flow, |it| it.srtt_ms),
            self.panel("retransmitted", "segments", SampleOf::Flow, |it| it.retransmissions.map(super::measure::lossy)),
            self.panel("allowed rate", "cells/s", SampleOf::Channel, |it| it.acr_cps.map(super::measure::lossy)),
            self.panel("queue", "frames", SampleOf::Queue, |it| it.queue_mean.filter(|_| !it.is_of_cells())),
            self.panel("queue of cells", "cells", SampleOf::Queue, |it| it.queue_mean.filter(|_| it.is_of_cells())),
            self.panel("queue drops", "frames or cells", SampleOf::Queue, |it| it.drops.map(super::measure::lossy)),
        ];
        let mut panels: Vec<Figure> = panels.into_iter().filter(|figure| !figure.series.is_empty()).collect();
        let end = self.0.iter().map(|it| it.time_s).fold(0.0, f64::max);
        let marks = marks(happens, end);
        for panel in &mut panels {
            panel.series.extend(marks.iter().cloned());
            // What is there for a part of the time alone has the same axis as the rest.
            panel.x.range = Some((0.0, end));
        }
        if let Some(first) = panels.first_mut().filter(|_| !label.is_empty()) {
            first.title = format!("{label}: {}", first.title);
        }
        panels
    }

    /// The names of what there is of `scope`, in the order of the samples.
    fn names(&self, scope: SampleOf) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for sample in self.0.iter().filter(|it| it.scope == scope) {
            let name = sample.label();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A figure of those of `scope` that have values worth showing, the first few by their greatest.
    fn panel(&self, what: &str, unit: &str, scope: SampleOf, value: impl Fn(&Sample) -> Option<f64>) -> Figure {
        let mut curves: Vec<(f64, Series)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for sample in self.0.iter().filter(|it| it.scope == scope) {
            let Some(y) = value(sample) else {
                continue;
            };
            let place = *places.entry(sample.label()).or_insert(curves.len());
            if place == curves.len() {
                curves.push((0.0, Series { label: sample.label(), shape: Shape::Curve, ..Series::default() }));
            }
            if let Some((most, series)) = curves.get_mut(place) {
                *most = most.max(y);
                series.points.push(Point::new(sample.time_s, y));
            }
        }
        // What is next to nothing beside the others would only fill the legend.
        let greatest = curves.iter().map(|(most, _)| *most).fold(0.0, f64::max);
        curves.retain(|(most, _)| *most > greatest / 50.0);
        let all = curves.len();
        if all > MOST_CURVES {
            curves.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            curves.truncate(MOST_CURVES);
        }
        let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() };
        let caption = if all > MOST_CURVES { format!("The {MOST_CURVES} highest of {all}.") } else { String::new() };
        Figure {
            title: format!("{what} over time"),
            x: axis("time", "s"),
            y: axis(what, unit),
            series: curves.into_iter().map(|(_, series)| series).collect(),
            limits: Vec::new(),
            caption,
            ..Figure::default()
        }
    }
}

impl Sample {
    /// Whether a queue is one of cells: that of a port of a switch. What waits for a port of an Ethernet switch is the
    /// line's, whose ends are `a` and `b`.
    fn is_of_cells(&self) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, queue)| queue.parse::<usize>().is_ok())
    }

    /// What a legend calls it.
    fn label(&self) -> String {
        match (self.flow, &self.from) {
            (Some(flow), Some(from)) => format!("{}, flow {flow} from {from}", self.name),
            _ => self.name.clone(),
        }
    }
}
