//! What is refused changes nothing: the rule of [`crate::tcp::states`], over random sessions.
//!
//! Each session runs twice with the same seed and in the same steps. Between the steps of the second run segments come
//! that must be refused, for every reason there is, with all options on; what is answered to them at that instant
//! nobody hears. All else on the wire must then be the same to the octet and the nanosecond, and so must be what the
//! users hear.
//!
//! `PROPTEST_CASES=100000 cargo test --release -p kumiki-inet --lib tcp::tests::refused` tries more than the usual
//! number.

use kumiki_graph::*;
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};
use kumiki_wire::inet::tcp::{Flags, Header, Options, SackBlock, Seq, UserTimeout};
use kumiki_wire::inet::{EcnUse, IpParameters, SourceRoute};
use proptest::prelude::*;

use super::pair::*;
use super::random::{Weather, pair, profiles, weather};
use crate::tcp::Config;
use crate::tcp::demux::Pair as Ends;
use crate::tcp::states::State;

/// Why a segment must be refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    Ahead,
    Behind,
    LongAgo,
    AckOfUnsent,
    AckTooOld,
    Paws,
    Unstamped,
    Checksum,
    ResetInside,
    ResetOutside,
    Syn,
    NoAck,
    Icmp,
}

const REASONS: [Reason; 13] = [
    Reason::Ahead,
    Reason::Behind,
    Reason::LongAgo,
    Reason::AckOfUnsent,
    Reason::AckTooOld,
    Reason::Paws,
    Reason::Unstamped,
    Reason::Checksum,
    Reason::ResetInside,
    Reason::ResetOutside,
    Reason::Syn,
    Reason::NoAck,
    Reason::Icmp,
];

/// A segment to be made up when its time comes.
#[derive(Clone, Debug)]
struct Forgery {
    /// After which step.
    step: usize,
    to: usize,
    reason: Reason,
    /// Where, how much, and what else.
    places: (u32, u32),
    len: usize,
    flags: u16,
}

fn forgeries() -> impl Strategy<Value = Vec<Forgery>> {
    let one =
        (0..STEPS, any::<bool>(), prop::sample::select(&REASONS[..]), any::<(u32, u32)>(), 0usize..1400, any::<u16>());
    let one = one.prop_map(|(step, to, reason, places, len, flags)| Forgery {
        step,
        to: usize::from(to),
        reason,
        places,
        len,
        flags,
    });
    prop::collection::vec(one, 1..12)
}

/// Where a connection stands at one end.
struct Stand {
    nxt: Seq,
    window: u32,
    una: Seq,
    max: Seq,
    max_wnd: u32,
    recent: Option<u32>,
    irs: Seq,
    /// `None`: a caller whose handshake is not done, or TIME-WAIT.
    state: Option<State>,
    /// A window so small is being probed, and whoever asks is told how it is now.
    small: bool,
}

fn ends(pair: &Pair, host: usize) -> Option<Ends> {
    let sent = pair.log.iter().find(|packet| packet.from == A)?;
    let port = |from| match from {
        A => sent.header.source_port,
        _ => sent.header.destination_port,
    };
    let socket = |host| address(host, port(host)).socket().unwrap();
    Some(Ends::new(socket(host), socket(1 - host)))
}

/// How `host` stands, by what it knows itself.
fn stand(pair: &mut Pair, host: usize) -> Option<Stand> {
    let ends = ends(pair, host)?;
    // What the other has sent, and this one, are what TIME-WAIT has left of a connection.
    let sent = |from: usize| {
        let of = pair.log.iter().filter(|packet| packet.from == from);
        let end = of.map(|it| {
            let len = it.len() as u32;
            let flags = [Flags::SYN, Flags::FIN];
            it.seq + len + flags.map(|flag| u32::from(it.has(flag))).iter().sum::<u32>()
        });
        pair.first[from].unwrap_or_default() + end.max().unwrap_or(0)
    };
    let (nxt, max) = (sent(1 - host), sent(host));
    let stamps = pair.log.iter().filter(|packet| packet.from != host);
    let oldest = stamps.filter_map(|packet| packet.header.options.timestamps).map(|(value, _)| value).next();
    let tcp = pair.tcp_mut(host);
    if let Some(it) = tcp.table.sessions().next() {
        return Some(Stand {
            nxt: it.receive.nxt,
            window: it.receive.window(),
            una: it.board.una(),
            max: it.send.max,
            max_wnd: it.send.max_wnd,
            recent: it.timestamps.then_some(it.receive.ts_recent.0),
            irs: it.receive.irs,
            state: Some(it.state),
            small: it.receive.window() < it.send.mss,
        });
    }
    let stamped = tcp.shared.config.timestamps;
    if let Some(index) = tcp.half_open.find(tcp.shared.secret, &ends) {
        let caller = tcp.half_open.get(index).unwrap();
        return Some(Stand {
            nxt: caller.irs + 1,
            window: caller.offered.into(),
            una: caller.iss,
            max: caller.iss + 1,
            max_wnd: 0,
            recent: caller.offer.timestamp.filter(|_| stamped),
            irs: caller.irs,
            state: None,
            small: false,
        });
    }
    tcp.time_waits.find(tcp.shared.secret, &ends)?;
    Some(Stand {
        nxt,
        window: 0,
        una: max,
        max,
        max_wnd: 1 << 30,
        recent: oldest,
        irs: Seq(0),
        state: Some(State::TimeWait),
        small: false,
    })
}

/// The segment, with all that could be believed of it; `None` where it would not be refused as things are, or where it
/// is one of the exceptions that the rule names.
fn made_up(pair: &mut Pair, forgery: &Forgery) -> Option<Unit> {
    let to = forgery.to;
    let it = stand(pair, to)?;
    let (r, s) = forgery.places;
    let config = pair.tcp(to).config();
    let tells_copies = config.ecn != EcnUse::Off;
    let asks = config.keep_alive;
    let ends = ends(pair, to)?;
    let wrong = |r: u32| it.max + 1 + r % (1 << 29);
    let inside = it.nxt + r % it.window.max(1);
    let old = it.recent.map(|recent| recent.wrapping_sub(1 + s % (1 << 29)));
    let mut value = it.recent.unwrap_or(s).wrapping_add(s % (1 << 29));
    let mut stamped = true;
    let (mut seq, mut ack, mut len) = (inside, it.max, forgery.len);
    let mut flags = Flags::from_bits(forgery.flags) | Flags::ACK;
    let without = |flags: Flags, other: Flags| Flags::from_bits(flags.bits() & !other.bits());
    flags = without(flags, Flags::SYN | Flags::RST);
    match it.state {
        Some(State::Closed) => return None,
        Some(State::SynSent) => match forgery.reason {
            Reason::AckOfUnsent => {
                flags |= Flags::SYN;
                ack = wrong(r);
            }
            Reason::AckTooOld => {
                flags |= if r & 1 == 0 { Flags::SYN } else { Flags::RST };
                ack = it.una - r % 1000;
            }
            Reason::ResetInside => {
                flags = without(flags, Flags::ACK) | Flags::RST;
            }
            Reason::NoAck => flags = without(flags, Flags::ACK),
            Reason::Checksum => flags |= Flags::SYN,
            Reason::Ahead
            | Reason::Behind
            | Reason::LongAgo
            | Reason::Paws
            | Reason::Unstamped
            | Reason::ResetOutside
            | Reason::Syn
            | Reason::Icmp => return None,
        },
        Some(State::TimeWait) => match forgery.reason {
            // FIN again, which fails in its acknowledgment or by its timestamp.
            Reason::AckOfUnsent | Reason::AckTooOld | Reason::Paws => {
                flags |= Flags::FIN;
                seq = it.nxt - 1 - len as u32;
                match (forgery.reason, old) {
                    (Reason::AckOfUnsent, _) => ack = wrong(r),
                    (Reason::AckTooOld, _) => ack = it.una - (1 << 30) - 1 - r % (1 << 29),
                    (_, Some(old)) => value = old,
                    _ => return None,
                }
            }
            Reason::ResetInside | Reason::ResetOutside => flags |= Flags::RST,
            Reason::Syn => {
                flags = without(flags, Flags::ACK) | Flags::SYN;
                seq = it.nxt - 1 - r % (1 << 29);
                value = old.unwrap_or(0);
                stamped = old.is_some();
            }
            Reason::Ahead => seq = it.nxt + 1 + r % (1 << 29),
            Reason::Checksum => {}
            Reason::Behind | Reason::LongAgo | Reason::Unstamped | Reason::NoAck | Reason::Icmp => {
                return None;
            }
        },
        _ => match forgery.reason {
            Reason::Ahead => {
                seq = it.nxt + it.window + 1 + r % (1 << 29);
                // In good standing otherwise, it has the account of who asks.
                if asks || it.small || s & 1 == 0 {
                    ack = wrong(s);
                }
            }
            Reason::Behind => {
                seq = it.nxt - len as u32 - r % 60_000;
                if len == 0 {
                    seq = seq - 1;
                }
                flags = without(flags, Flags::FIN);
                if len == 0 || it.small || tells_copies || s & 1 == 0 {
                    ack = wrong(s);
                }
            }
            Reason::LongAgo => {
                seq = it.nxt - (1 << 29) - r % (1 << 28);
                if asks || it.small || tells_copies {
                    ack = wrong(s);
                }
            }
            Reason::AckOfUnsent => ack = wrong(r),
            Reason::AckTooOld => ack = it.una - it.max_wnd - 1 - s % (1 << 29),
            Reason::Paws => value = old?,
            Reason::Unstamped => {
                it.recent?;
                stamped = false;
            }
            Reason::Checksum => {}
            Reason::ResetInside => {
                if it.window < 2 {
                    return None;
                }
                seq = it.nxt + 1 + r % (it.window - 1);
                flags |= Flags::RST;
            }
            Reason::ResetOutside => {
                seq = it.nxt + it.window + 1 + r % (1 << 29);
                flags |= Flags::RST;
            }
            Reason::Syn => {
                // A caller goes back to LISTEN by it, as the standard has it.
                it.state?;
                flags |= Flags::SYN;
                ack = wrong(s);
                if seq == it.irs {
                    return None;
                }
            }
            Reason::NoAck => flags = without(flags, Flags::ACK),
            Reason::Icmp => return None,
        },
    }
    if flags.contains(Flags::RST) {
        len = 0;
    }
    let syn = flags.contains(Flags::SYN);
    let mut options = Options {
        timestamps: stamped.then_some((value, 7)),
        user_timeout: Some(UserTimeout { value: 1, minutes: false }),
        accecn: Some(AccEcn::new(Order::Zero, 3, s, r, 77)),
        mss: syn.then_some(28),
        window_scale: syn.then_some(14),
        sack_permitted: syn,
        ..Options::NONE
    };
    if !syn {
        let left = it.una + r % 3000;
        options.sack.push(SackBlock { left, right: left + s % 3000 });
    }
    let header = Header {
        source_port: ends.remote.port(),
        destination_port: ends.local.port(),
        seq,
        ack,
        flags,
        window: s as u16,
        urgent_pointer: r as u16,
        options,
        ..Header::default()
    };
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(vec![0xe5; len]);
    let mut data = Message::from_octets(&octets);
    data.meta_mut().checksum = if forgery.reason == Reason::Checksum {
        // As if all of it summed to nothing, which no pseudo header of these addresses makes good.
        Checksum::Sum(Sum::ZERO)
    } else {
        Checksum::Verified
    };
    Some(Unit {
        source: ip(1 - to),
        destination: ip(to),
        session: None,
        options: UnitOptions::of(IpParameters { tos: Codepoint::Ce.bits(), ..IpParameters::NONE }),
        parameters: Parameters::of(SourceRoute { gateways: vec![[192, 0, 2, 9].into()], strict: false }),
        data,
    })
}

/// ICMP that speaks of what is not in flight.
fn icmp(pair: &mut Pair, forgery: &Forgery) -> Option<Report> {
    let it = stand(pair, forgery.to)?;
    let ends = ends(pair, forgery.to)?;
    let (r, s) = forgery.places;
    let seq = if r & 1 == 0 { it.una - 1 - s % (1 << 29) } else { it.max + s % (1 << 29) };
    let mut start = Vec::new();
    start.extend(ends.local.port().to_be_bytes());
    start.extend(ends.remote.port().to_be_bytes());
    start.extend(seq.0.to_be_bytes());
    Some(Report::Unreachable {
        source: ip(forgery.to),
        destination: ip(1 - forgery.to),
        problem: if r & 2 == 0 { Problem::TooBig { mtu: 600 } } else { Problem::NoNeighbour },
        start: Message::from_octets(&start),
    })
}

/// Steps of a session, and after how many of them B takes nothing and takes all again.
const STEPS: usize = 40;
const STOPS: usize = 12;
const GOES_ON: usize = 24;

#[derive(Clone, Debug)]
struct Plan {
    configs: [Config; 2],
    weather: Weather,
    writes: [Vec<usize>; 2],
    /// Of the steps, in milliseconds.
    steps: Vec<u64>,
    stops: bool,
}

fn plans() -> impl Strategy<Value = Plan> {
    let more = || {
        const WISHES: [EcnUse; 3] = [EcnUse::Off, EcnUse::Classic, EcnUse::Accurate];
        (profiles(), prop::sample::select(&WISHES[..]), any::<(bool, bool)>()).prop_map(
            |(config, ecn, (keep_alive, user_timeout_option))| Config {
                ecn,
                keep_alive,
                keep_alive_times: KeepAlive { idle: ms(700), interval: ms(1000), count: 5 },
                // What is refused of the peer's own, as PAWS does with late copies, has the same account as what is
                // forged. That much a forger can do: here there is no limit, and scripts show whose account is whose.
                challenge_interval: Duration::ZERO,
                user_timeout_option,
                user_timeout: user_timeout_option.then_some(ms(60_000)),
                ..config
            },
        )
    };
    let writes = || prop::collection::vec(1usize..6000, 0..4);
    let steps = prop::collection::vec(0u64..120, STEPS);
    ((more(), more()), weather(), (writes(), writes()), steps, any::<bool>()).prop_map(
        |((a, b), weather, (forth, back), steps, stops)| Plan {
            configs: [a, b],
            weather: Weather { loss: weather.loss / 3.0, ..weather },
            writes: [forth, back],
            steps,
            stops,
        },
    )
}

/// What can be seen of a session from outside.
#[derive(PartialEq, Debug)]
struct Observed {
    log: Vec<Packet>,
    ways: Vec<Option<Box<SourceRoute>>>,
    travelled: Vec<(usize, u8, u8)>,
    narrowed: Vec<(usize, u32)>,
    heard: [Vec<String>; 2],
    received: [Vec<u8>; 2],
}

fn run(plan: &Plan, forgeries: &[Forgery]) -> Observed {
    let [a, b] = plan.configs.clone();
    let mut pair = pair(a, b, plan.weather);
    pair.listen(B, 5);
    for (host, writes) in plan.writes.iter().enumerate() {
        for len in writes {
            let write = Message::from_octets(&numbered(*len));
            pair.app(host).outbox.push_back(write);
        }
        pair.app(host).release_when_sent = true;
    }
    pair.call(A);
    let mut untaken = None;
    for (step, time) in plan.steps.iter().enumerate() {
        pair.run_for(ms(*time));
        if plan.stops && step == STOPS && pair.app(B).session.is_some() {
            pair.app(B).idle = true;
            untaken = Some(pair.app(B).received.len());
        }
        if step == GOES_ON
            && let Some(before) = untaken
        {
            pair.app(B).idle = false;
            let waits = pair.app(B).received.len() - before;
            if !pair.app(B).over {
                pair.take(B, waits as u64);
            }
        }
        for forgery in forgeries.iter().filter(|it| it.step == step) {
            pair.unheard = true;
            if forgery.reason == Reason::Icmp {
                if let Some(report) = icmp(&mut pair, forgery) {
                    pair.report(forgery.to, report);
                }
            } else if let Some(unit) = made_up(&mut pair, forgery) {
                pair.deliver_unit(forgery.to, unit);
            }
            pair.unheard = false;
        }
    }
    for _ in 0..20 {
        pair.run_for(ms(5_000));
        if pair.app(A).over && pair.app(B).over {
            break;
        }
    }
    Observed {
        log: core::mem::take(&mut pair.log),
        ways: core::mem::take(&mut pair.ways),
        travelled: core::mem::take(&mut pair.travelled),
        narrowed: core::mem::take(&mut pair.narrowed),
        heard: [A, B].map(|host| core::mem::take(&mut pair.app(host).heard)),
        received: [A, B].map(|host| core::mem::take(&mut pair.app(host).received)),
    }
}

/// The usual number of cases, unless more are asked for.
fn cases() -> u32 {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    if asked { ProptestConfig::default().cases } else { 96 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_refused_changes_nothing(plan in plans(), forgeries in forgeries()) {
        let (alone, attacked) = (run(&plan, &[]), run(&plan, &forgeries));
        let differs = alone.log.iter().zip(&attacked.log).position(|(a, b)| a != b);
        if let Some(at) = differs {
            let tail = |seen: &Observed| {
                let of = &seen.log[at.saturating_sub(5)..(at + 3).min(seen.log.len())];
                of.iter().map(|it| format!("{it} {:?}", it.header)).collect::<Vec<_>>().join("\n")
            };
            prop_assert!(false, "alone\n{}\nattacked\n{}", tail(&alone), tail(&attacked));
        }
        prop_assert_eq!(alone, attacked);
    }
}
