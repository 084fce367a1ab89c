//! How many packets and how much time a case may take: who ends in order after 40 million packets for 160 kB is not
//! well.
//!
//! # What is allowed
//!
//! A transfer goes on in *steps*: an octet more than a segment (or packet, or the burst of a rate, which a packet never
//! exceeds) holds, a write or a piece of it that the socket layer hands over, a window of the smaller of both buffers,
//! and a read of a program that reads in bits each take one. A case has at most 40,000, 4,000, 4,000 and 1,000 of these
//! in one direction (`case::programs`). In packets, counted at both hosts, so that one that gets through counts twice,
//!
//! ```text
//! allowed = 2000 + 8 strangers + 40 t + 24 * (steps there / b + steps back / b) * n     b = (1 - loss there)^2 (1 - loss back)^2
//! ```
//!
//! - *24 a step*: a segment and its acknowledgment are four, both retransmitted five times.
//! - *b*: what is lost is retransmitted, and so is what was only not heard to have come. Where cells are lost, the loss
//!   is that of a whole PDU.
//! - *n* is 1 but where nothing controls congestion: then all of a window is sent in each round trip of which a short
//!   queue keeps q, and a packet leaves so many times as there are q in half of a window, at its largest where buffers
//!   grow by themselves (seed 5301493: a send buffer of 14,704 octets was 524,288 within 1.4 s, and each of 725
//!   time-outs sent 920 segments, of which the queue took one). A receiver of XTP is such a queue as well: behind a gap
//!   it keeps 128 packets, or one for 1024 octets of its window (P36), however short they are; and where the sender
//!   heeds no flow control, so many as its buffer has room for.
//! - Where nothing coalesces a write of TCP's user may be as small as the low-water mark of its buffer: a small segment
//!   that is acknowledged makes room for as small a write, which goes at once, and so on (seed 5308273: 4 octets at a
//!   time, where the mark is 1).
//! - *40 a second* of the t seconds that it took: probes of a shut window, keep-alives, questions of a tail,
//!   repetitions while the line is down. Each has its own rule for how often it may be; this is far above all of them
//!   for long, and never much in all.
//! - *8 a stranger* who calls: what answers him passes the other end's plug as well.
//! - Where third parties shrink windows or make up packets, four times as much.
//!
//! In time it is what the line needs for the octets eight times over, what rates, pauses and readers need twice, four
//! times all the time that the line is down, for each step two round trips at their longest and two seconds (time-outs
//! and delayed acknowledgments) over b, and 20,000 s for ends that wait for a peer that is gone (`run::IDLE_TIMEOUT`
//! and the user's time-out). Where nothing controls congestion each step of TCP may wait for the maximum of RTO
//! besides: all goes again at each time-out, a short queue keeps a segment or two of it, and Karn's rule leaves no
//! sample that would end the back-off (seed 5014882: 124 octets in 120 s). So it is where a queue of one packet loses
//! the second of any two: each acknowledgment is for the head, which the time-out retransmitted, and for what followed
//! it, and without timestamps and SACK there is no sample (seed 5102611: 84 octets in 60 s). With a sample each step
//! there may wait for the least RTO and then for twice that (seed 5324443).
//!
//! The bound is meant to be broken by what goes wrong in kind, not to measure efficiency: `kumiki adversity` prints how
//! much of it was used. Five seeds that once used more than 24 a step and 2000 said where either was wrong. TCP 167:
//! the strangers were not counted. XTP 5000839, 5004905, 5002546: the stack sent the same again and again (what a
//! report had no room for, a window of packets that the peer does not take, what a receiver without room had refused),
//! and they use less since. XTP 5000953: 1287 packets of 49 octets in a window that nothing controls, of which the
//! receiver keeps 128 behind each of many gaps.

use kumiki_graph::{Coalesce, Duration, FlowControl, Instant};
use kumiki_inet::tcp::config::PathMtu;
use kumiki_inet::tcp::congestion::Algorithm;
use kumiki_inet::tcp::mss_of_cookie;
use kumiki_link::{Hold, Impairment, Loss};
use kumiki_xtp::congestion;

use crate::case::{Case, End, Reading, Stack};
use crate::user::Report;

const PACKETS: u64 = 2_000;
const PER_SECOND: u64 = 40;
const PER_STEP: u64 = 24;
const PER_STRANGER: u64 = 8;
/// Third parties: so many times as much.
const MEDDLED: u64 = 4;
const TIME: Duration = Duration::from_secs(20_000);
const STEP: Duration = Duration::from_secs(2);
/// The unit of probabilities here.
const WHOLE: u64 = 1_000;
/// No more than so much is taken for lost at all times: the rest is the matter of those who give up.
const MOST_LOST: u64 = 800;
/// Once in a thousand transfers, in [`WHOLE`]ths to the fourth.
const FEARED: u64 = WHOLE.pow(3);
/// Octets of headers in a cell's PDU, and of a cell.
const PDU: u64 = 60;
const CELL: u64 = 48;
/// Octets of the options that each segment may carry: timestamps, and a source route by one gateway.
const TIMESTAMPS: u32 = 12;
const ROUTE: u32 = 8;
/// Octets of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;

/// What an XTP keeps ahead of its turn: so many packets, or one for so many octets of its window.
const FEW: u64 = 128;
const SPARSE: u64 = 1024;

/// What a case may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allowed {
    pub(crate) packets: u64,
    pub(crate) time: Duration,
}

/// A probability in [`WHOLE`]ths, rounded down.
fn parts(probability: f64) -> u64 {
    let parts = |n: &u16| f64::from(*n) <= probability * 1_000.0;
    (0..=1_000_u16).rev().find(parts).map_or(0, u64::from)
}

/// What of the PDUs of `octets` is lost on average while the line is up, in [`WHOLE`]ths.
fn loss(weather: &Impairment, stack: Stack, octets: u64) -> u64 {
    let of_units = match weather.loss {
        Loss::None => 0.0,
        Loss::Independent(probability) => probability,
        Loss::Gilbert { to_bad, to_good, good, bad } => {
            let often = to_bad / (to_bad + to_good).max(f64::MIN_POSITIVE);
            often * bad + (1.0 - often) * good
        }
    };
    let of_units = of_units + weather.corrupt;
    let units =
        if stack == Stack::Cells { i32::try_from((octets + PDU).div_ceil(CELL)).unwrap_or(i32::MAX) } else { 1 };
    parts(1.0 - (1.0 - of_units.min(1.0)).powi(units)).min(MOST_LOST)
}

/// The largest text of a segment or packet from one end to the other, in octets, or a little less: a cookie remembers
/// the next MSS of a few (28 for one of 255), a source route takes 8 octets, and where the line may have seemed a
/// `black` hole a TCP that looks for such has gone down to the least MTU for ten minutes (RFC 4821 section 7.7; seed
/// 5323711: 512 octets for 6953).
fn segment(from: &End, to: &End, black: bool) -> u64 {
    let text = Case::segment(from, to);
    if from.xtp.is_some() {
        return text.min(burst(from, to)).into();
    }
    let mss = u16::try_from(text + TIMESTAMPS).unwrap_or(u16::MAX);
    let mss = if from.may_send_cookies() { mss_of_cookie(mss) } else { mss };
    let searches = match from.tcp.path_mtu {
        PathMtu::ProbeOnBlackHole | PathMtu::Probe => true,
        PathMtu::Off | PathMtu::Icmp => false,
    };
    let least = u16::try_from(from.tcp.min_path_mtu.saturating_sub(HEADERS)).unwrap_or(u16::MAX);
    let mss = if black && searches { mss.min(least) } else { mss };
    let route = if from.by_gateway || to.by_gateway { ROUTE } else { 0 };
    u64::from(mss).saturating_sub((TIMESTAMPS + route).into()).max(1)
}

/// Whether the line may have seemed a black hole: a segment and three copies of it met no answer. It may have been
/// down, losses come in bursts (seed 5800160: 504 octets for 5719), or are so many that four in a row are to be feared
/// of so many segments.
fn may_seem_black(case: &Case, from: &End, to: &End, octets: u64) -> bool {
    let weather = &case.line.weather;
    let whole = u64::from(Case::segment(from, to)).max(1);
    let kept = weather.iter().fold(WHOLE, |kept, way| kept * (WHOLE - loss(way, case.stack, whole)) / WHOLE);
    let four = (WHOLE - kept).pow(4).saturating_mul(1 + octets / whole);
    let bursts = |way: &Impairment| match way.loss {
        Loss::Gilbert { .. } => true,
        Loss::None | Loss::Independent(_) => false,
    };
    weather.iter().any(|way| !way.down.is_empty() || bursts(way)) || four > FEARED
}

/// One direction.
struct DirectionBounds<'a> {
    case: &'a Case,
    from: &'a End,
    to: &'a End,
    weather: &'a Impairment,
    octets: u64,
    segment: u64,
    /// The least and the largest window that buffers leave.
    window: u64,
    reach: u64,
}

impl DirectionBounds<'_> {
    fn steps(&self) -> u64 {
        let bits = match self.to.reading {
            Reading::Bits(octets, _) => self.octets / octets.max(1),
            Reading::AtOnce | Reading::Late(_) | Reading::Pauses(..) => 0,
        };
        let each = |of: u64| self.octets / of.max(1);
        let writes = each(self.write());
        1 + each(self.segment) + writes + each(self.window) + bits
    }

    /// Nothing controls congestion.
    fn is_free(&self) -> bool {
        self.from
            .xtp
            .as_ref()
            .map_or_else(|| self.from.tcp.congestion == Algorithm::Fixed, |it| it.congestion == congestion::Kind::Off)
    }

    /// The longest time-out that a step may wait for, where it is no exception.
    fn time_out(&self) -> Duration {
        let short = self.queue() <= 1;
        let rto = self.from.tcp.rto;
        match self.from.xtp {
            Some(_) => Duration::ZERO,
            None if self.is_free() || (short && !self.measures_what_is_lost()) => rto.maximum,
            // The second of any two waits for the least RTO, and where its copy meets another for twice that.
            None if short => rto.minimum * 3,
            None => Duration::ZERO,
        }
    }

    /// A round trip is known also where each acknowledgment is for something that was sent twice: by timestamps, or
    /// what SACK reports. A cookie remembers SACK only by timestamps.
    fn measures_what_is_lost(&self) -> bool {
        let ends = [self.from, self.to];
        ends.iter().all(|end| end.tcp.timestamps) || ends.iter().all(|end| end.tcp.sack && !end.may_send_cookies())
    }

    /// Packets that wait at the line at the most.
    fn queue(&self) -> u64 {
        if self.case.stack == Stack::Cells { self.case.line.queue } else { self.case.line.queue / (self.segment + PDU) }
    }

    /// How often a packet leaves where nothing controls congestion, for each that the queue takes.
    fn times(&self) -> u64 {
        if !self.is_free() {
            return 1;
        }
        let packet = self.segment.min(self.from.writing.piece.0).max(1);
        let no_flow = self.from.xtp.as_ref().is_some_and(|it| {
            let asked = self.from.quality.flow_control;
            asked.unwrap_or(it.flow_control) == FlowControl::None
        });
        let most = if no_flow { self.from.send_buffer().into() } else { self.reach };
        let out = most.min(self.octets) / packet;
        let kept = if self.to.xtp.is_some() { (self.window / SPARSE).max(FEW) } else { u64::MAX };
        let room = if no_flow { u64::from(self.to.receive_buffer()) / packet } else { u64::MAX };
        let queue = self.queue().min(kept).min(room);
        1 + out / queue.saturating_mul(2).max(2)
    }

    /// Octets of a write of TCP's user at the least: the socket layer hands it over in pieces, and where nothing
    /// coalesces what goes is as small as the room that the user was told of.
    fn write(&self) -> u64 {
        let piece = self.from.writing.piece.0;
        if self.from.xtp.is_some() {
            return piece;
        }
        let tcp = &self.from.tcp;
        let never = self.from.quality.coalesce.unwrap_or(tcp.coalesce) == Coalesce::Never;
        let granularity = if tcp.send_granularity == 0 { u64::MAX } else { tcp.send_granularity.into() };
        let room = if never { tcp.low_water.max(1).into() } else { u64::MAX };
        piece.min(granularity).min(room)
    }

    fn loss(&self) -> u64 {
        loss(self.weather, self.case.stack, self.segment)
    }

    /// The longest way of a packet, its time in a queue included.
    fn delay(&self) -> Duration {
        let line = &self.case.line;
        let held = match self.weather.hold {
            Some((_, Hold::Time(time) | Hold::Followers(_, time))) => time,
            None => Duration::ZERO,
        };
        // `case::line`: no queue takes longer than twenty seconds, and no frame longer than two.
        let queue = Duration::from_secs(22);
        line.propagation + self.weather.jitter * 2 + held + queue.min(self.on_the_line(line.queue))
    }

    /// How long the slower direction takes for `octets`.
    fn on_the_line(&self, octets: u64) -> Duration {
        let rate = self.case.line.rates.iter().copied().min().unwrap_or(1);
        // Headers, and cells.
        at_rate(octets.saturating_mul(2), rate / 8)
    }

    /// What the programs and rates take by themselves.
    fn waits(&self) -> Duration {
        let writing = &self.from.writing;
        let writes = self.octets / writing.piece.0.max(1);
        let pauses = writing
            .pause
            .map_or(Duration::ZERO, |(every, pause)| pause.saturating_mul(writes / u64::from(every.max(1)) + 1));
        let reads = match self.to.reading {
            Reading::AtOnce => Duration::ZERO,
            Reading::Late(time) => time.saturating_mul(self.octets / self.window.max(1) + 1),
            Reading::Bits(octets, time) => time.saturating_mul(self.octets / octets.max(1) + 1),
            Reading::Pauses(_, time) => time,
        };
        let rates = [
            self.from.quality.rate.map_or(0, |it| it.octets_per_second),
            self.from.xtp.as_ref().map_or(0, |it| it.rate),
            self.from.xtp.as_ref().map_or(0, |it| it.total_rate),
            self.to.xtp.as_ref().map_or(0, |it| it.in_rate),
        ];
        let rate = rates.into_iter().filter(|it| *it > 0).min();
        let limit = rate.map_or(Duration::ZERO, |it| at_rate(self.octets, it.into()));
        pauses + reads + limit
    }
}

fn at_rate(octets: u64, per_second: u64) -> Duration {
    let nanos = u128::from(octets) * 1_000_000_000 / u128::from(per_second.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 64).min(u64::MAX / 64))
}

/// The most octets that the rate of an XTP lets out at once: a packet has no more (P29).
fn burst(from: &End, to: &End) -> u32 {
    let asked = from.quality.rate.map_or(0, |it| it.burst);
    let own = from.xtp.as_ref().map_or(0, |it| it.burst);
    let told = to.xtp.as_ref().map_or(0, |it| it.in_burst);
    [asked, own, told].into_iter().filter(|it| *it > 0).min().unwrap_or(u32::MAX)
}

/// What `case` may have taken by `now`, with what its programs have written.
pub(crate) fn allowed(case: &Case, reports: &[Report; 2], now: Instant) -> Allowed {
    let [near, far] = &case.ends;
    let [there, back] = &case.line.weather;
    let [of_near, of_far] = reports;
    let ways = [(near, far, there, of_near), (far, near, back, of_far)];
    let ways = ways.map(|(from, to, weather, report)| DirectionBounds {
        case,
        from,
        to,
        weather,
        octets: report.written,
        segment: segment(from, to, may_seem_black(case, from, to, report.written)),
        window: from.send_buffer().min(to.receive_buffer()).max(1).into(),
        reach: from.max_send_buffer().min(to.max_receive_buffer()).max(1).into(),
    });
    let through: u64 =
        ways.iter().map(|way| WHOLE - way.loss()).fold(WHOLE, |product, one| (product * one / WHOLE).max(1));
    let over = |n: u64| n.saturating_mul(WHOLE * WHOLE) / (through * through);
    let meddled = case.line.squeeze != [0, 0] || case.line.liars.iter().any(Option::is_some);
    let times = if meddled { MEDDLED } else { 1 };

    let took = now.saturating_since(Instant::ZERO);
    let by_time = PER_SECOND.saturating_mul(took.as_millis() / 1_000);
    let (mut packets, mut time) = (0_u64, TIME);
    let trip = ways.iter().map(DirectionBounds::delay).fold(Duration::ZERO, |a, b| a + b);
    for way in &ways {
        let steps = over(way.steps());
        let each = PER_STEP.saturating_mul(way.times());
        packets = packets.saturating_add(steps.saturating_mul(each));
        let down: Duration =
            way.weather.down.iter().map(|(from, to)| to.saturating_since(*from)).fold(Duration::ZERO, |a, b| a + b);
        let per_step = trip * 2 + STEP + way.time_out();
        time = time + per_step.saturating_mul(steps) + way.on_the_line(way.octets) * 8 + way.waits() * 2 + down * 4;
    }
    let strangers = case.ends.iter().filter_map(|end| end.strangers);
    let strangers: u64 = strangers.map(|it| u64::from(it.calls)).sum();
    let packets = PACKETS
        .saturating_add(strangers.saturating_mul(PER_STRANGER))
        .saturating_add(by_time)
        .saturating_add(packets.saturating_mul(times));
    Allowed { packets, time }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transport;

    fn reports(case: &Case) -> [Report; 2] {
        case.ends.each_ref().map(|end| Report { written: end.writing.total, ..Report::none() })
    }

    #[test]
    fn what_millions_of_packets_were_sent_for_allows_some_hundred_thousand() {
        // 48,946 and 112,000 octets through a queue of one PDU: it took 39,573,749 packets and 660 s.
        let case = Case::of(Transport::Xtp, 5_003_745);
        let end = Instant::ZERO + Duration::from_secs(660);
        let allowed = allowed(&case, &reports(&case), end);
        assert!((100_000..4_000_000).contains(&allowed.packets), "{allowed:?}");
    }

    #[test]
    fn half_lost_each_way_is_sixteen_times_as_much() {
        let mut case = Case::of(Transport::Tcp, 3);
        case.line.squeeze = [0, 0];
        case.line.weather = [Impairment::default(), Impairment::default()];
        // Segments are as long as before.
        for end in &mut case.ends {
            end.tcp.path_mtu = PathMtu::Icmp;
        }
        let steps = |case: &Case| allowed(case, &reports(case), Instant::ZERO).packets - PACKETS;
        let kind = steps(&case);
        for weather in &mut case.line.weather {
            weather.loss = Loss::Independent(0.5);
        }
        let ratio = steps(&case) / kind.max(1);
        assert!((15..=16).contains(&ratio) || case.stack == Stack::Cells, "{ratio}");
    }

    #[test]
    fn where_nothing_controls_congestion_a_step_may_wait_for_the_longest_time_out() {
        let mut case = Case::of(Transport::Tcp, 5_014_882);
        let [far_maximum, took] = [120, 21_866].map(Duration::from_secs);
        assert_eq!(case.ends[1].tcp.congestion, Algorithm::Fixed);
        assert_eq!(case.ends[1].tcp.rto.maximum, far_maximum);
        let time = |case: &Case| allowed(case, &reports(case), Instant::ZERO).time;
        // 25,000 octets go in segments of 62 at the most, which carry 42 to 62 of text.
        let free = time(&case);
        assert!(free > took, "{free}");
        case.ends[1].tcp.congestion = Algorithm::NewReno;
        let more = free.as_millis() - time(&case).as_millis();
        let steps = more / far_maximum.as_millis();
        assert!((25_000 / 62..25_000 / 20).contains(&steps), "{steps}");
    }

    #[test]
    fn a_packet_has_no_more_than_the_burst_of_a_rate() {
        // 1,048,576 octets in bursts of 669: 6473 packets crossed where packets of 9108 octets were reckoned with.
        let case = Case::of(Transport::Xtp, 6_035_775);
        let allowed = allowed(&case, &reports(&case), Instant::ZERO);
        assert!((40_000..60_000).contains(&allowed.packets), "{allowed:?}");
    }

    #[test]
    fn where_a_queue_of_one_packet_leaves_no_sample_a_step_may_wait_for_the_longest_time_out() {
        // 640,000 octets in segments of 28, three of which took a minute.
        let mut case = Case::of(Transport::Tcp, 5_102_611);
        let took = Duration::from_secs(458_745);
        let time = |case: &Case| allowed(case, &reports(case), Instant::ZERO).time;
        assert!(time(&case) > took, "{}", time(&case));
        case.ends[1].tcp.timestamps = true;
        case.ends[0].tcp.timestamps = true;
        assert!(time(&case) < took, "{}", time(&case));
        case.ends[0].tcp.timestamps = false;
        case.line.queue = 2;
        assert!(time(&case) < took, "{}", time(&case));
    }

    #[test]
    fn a_cookie_and_a_source_route_make_segments_small() {
        let mut case = Case::of(Transport::Tcp, 5_337_541);
        let [near, far] = &mut case.ends;
        assert!(near.by_gateway && far.may_send_cookies() && near.tcp.mss == Some(241));
        assert_eq!(segment(far, near, false), 28 - 12 - 8);
        // Who calls remembers what it was told.
        assert_eq!(segment(near, far, false), 241 - 12 - 8);
        far.tcp.syn_cookies = kumiki_inet::tcp::config::SynCookies::Never;
        assert_eq!(segment(far, near, false), 241 - 12 - 8);
        near.by_gateway = false;
        assert_eq!(segment(far, near, false), 241 - 12);
        near.tcp.mss = None;
        (near.mtu, far.mtu, far.tcp.mss) = (9180, 9180, None);
        assert_eq!(segment(far, near, false), 9180 - 40 - 12);
        assert_eq!(segment(far, near, true), 552 - 40 - 12);
    }

    #[test]
    fn a_line_that_loses_many_in_a_row_may_seem_a_black_hole() {
        // 33,502,600 octets in segments of 504 for the better part.
        let mut case = Case::of(Transport::Tcp, 5_800_160);
        let black = |case: &Case, octets| may_seem_black(case, &case.ends[1], &case.ends[0], octets);
        assert!(black(&case, 33_502_600));
        case.line.weather[1].loss = Loss::None;
        assert!(!black(&case, 33_502_600));
        case.line.weather[1].loss = Loss::Independent(0.1);
        assert!(black(&case, 33_502_600) && !black(&case, 60_000));
    }

    #[test]
    fn a_window_that_grows_by_itself_goes_again_and_again_where_nothing_controls_congestion() {
        // 600,000 packets for 409,840 octets: the window was 524,288 octets, and the line queues one segment of 568.
        let mut case = Case::of(Transport::Tcp, 5_301_493);
        let packets = |case: &Case| allowed(case, &reports(case), Instant::ZERO).packets;
        assert!(packets(&case) > 1_200_000, "{}", packets(&case));
        let mut fixed = case.clone();
        for end in &mut fixed.ends {
            end.quality.send_buffer = Some(end.tcp.send_buffer);
        }
        assert!(packets(&fixed) < 600_000, "{}", packets(&fixed));
        for end in &mut case.ends {
            end.tcp.congestion = Algorithm::NewReno;
        }
        assert!(packets(&case) < 100_000, "{}", packets(&case));
    }

    #[test]
    fn a_write_is_as_small_as_the_room_where_nothing_coalesces() {
        let mut case = Case::of(Transport::Tcp, 5_308_273);
        let steps = |case: &Case| allowed(case, &reports(case), Instant::ZERO).packets;
        let least = |case: &Case| 24 * case.ends[1].writing.total;
        assert_eq!(case.ends[1].tcp.low_water, 1);
        assert!(steps(&case) > least(&case));
        case.ends[1].quality.coalesce = Some(Coalesce::Nagle);
        assert!(steps(&case) < least(&case) / 10);
        case.ends[1].tcp.send_granularity = 1;
        assert!(steps(&case) > least(&case));
    }

    #[test]
    fn probabilities_become_parts() {
        let all = [(0.0, 0), (0.0009, 0), (0.5, 500), (1.0, 1000), (7.0, 1000)];
        for (probability, expected) in all {
            assert_eq!(parts(probability), expected);
        }
    }
}
