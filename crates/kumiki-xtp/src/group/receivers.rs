//! Those who receive what a transmitter sends, and what all of them say together.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P40 (the list), P41 (what all have), P43 (who is given up) |
//! | The caller's part | whether a report can be true; packets and timers |
//! | Left out | receivers that are told apart by more than the address that their packets come from |

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::{Address, Instant};
use kumiki_wire::xtp::{Control, Key, Rates, Span};

use crate::config::Config;
use crate::control::at_or_before;

/// How many questions are remembered.
const ASKED: usize = 64;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Its key for the association, and where packets for it alone go.
    pub(crate) key: Key,
    pub(crate) to: IpAddr,
    pub(crate) rseq: u64,
    pub(crate) alloc: u64,
    pub(crate) echo: u32,
    pub(crate) spans: Vec<Span>,
    /// What it said of what it can take.
    pub(crate) rates: Option<Rates>,
    /// Since when it has been missing something without getting any of it, though it could have.
    pub(crate) behind: Option<Instant>,
    /// What its reports have told of: all before this octet has reached it or is lost to it.
    pub(crate) told: u64,
    /// Octets that its reports have shown to be lost to it since the last question that all have answered.
    pub(crate) lost: u64,
    /// The same before that question, the older the less.
    pub(crate) lately: u64,
    /// How often WTIMER has expired since it last answered.
    pub(crate) missed: u32,
    /// It has all, and is over (RCLOSE).
    pub(crate) done: bool,
}

impl Receiver {
    /// One that begins with this report.
    pub(crate) const fn new(key: Key, to: IpAddr, report: &Control, rates: Option<Rates>) -> Self {
        Self {
            key,
            to,
            rseq: report.rseq,
            alloc: report.alloc,
            echo: report.echo,
            spans: Vec::new(),
            rates,
            behind: None,
            told: report.rseq,
            lost: 0,
            lately: 0,
            missed: 0,
            done: false,
        }
    }
}

/// The list.
#[derive(Debug)]
pub(crate) struct Receivers {
    list: BTreeMap<Address, Receiver>,
    most: usize,
    least: usize,
    tries: u32,
    /// Data waits until then, so that all who heard the call can say so.
    gathering: Option<Instant>,
    /// The first ones have come.
    gathered: bool,
    /// sync, when it left, and the next octet then.
    asked: VecDeque<(u32, Instant, u64)>,
    /// The question that all have answered now was the one that the last report answered: the time is a round trip.
    /// Otherwise somebody has left whom the others waited for, or missed that question and answered a later one.
    pub(crate) is_sample: bool,
    /// The last question that all have answered.
    echoed: Option<u32>,
    /// Octets that the one who has lost most of late has lost since the question before it.
    pub(crate) most_lost: u64,
}

/// What all receivers say together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GroupStatus {
    pub(crate) control: Control,
    pub(crate) spans: Vec<Span>,
}

impl Receivers {
    pub(crate) fn new(config: &Config) -> Self {
        let number = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
        Self {
            list: BTreeMap::new(),
            most: number(config.receivers),
            least: number(config.min_receivers),
            tries: config.receiver_tries,
            gathering: None,
            gathered: false,
            asked: VecDeque::new(),
            is_sample: false,
            echoed: None,
            most_lost: u64::MAX,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// There is no room for this one, which is not among them.
    pub(crate) fn is_full_for(&self, who: Address) -> bool {
        self.list.len() >= self.most && !self.list.contains_key(&who)
    }

    /// There are as many as there must be.
    pub(crate) fn is_enough(&self) -> bool {
        self.list.len() >= self.least
    }

    /// Data may not go on.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.is_enough() || self.gathering.is_some()
    }

    /// There are enough for the first time: whether the others are to be waited for.
    pub(crate) fn gather(&mut self, until: Instant, now: Instant) -> bool {
        if self.gathered {
            return false;
        }
        self.gathered = true;
        self.gathering = (until > now).then_some(until);
        self.gathering.is_some()
    }

    /// Nobody is waited for any longer.
    pub(crate) const fn end_gathering(&mut self) {
        self.gathering = None;
    }

    pub(crate) fn one(&mut self, who: Address) -> Option<&mut Receiver> {
        self.list.get_mut(&who)
    }

    fn active(&self) -> impl Iterator<Item = &Receiver> {
        self.list.values().filter(|it| !it.done)
    }

    /// Takes one in, in the place of who was there.
    pub(crate) fn join(&mut self, who: Address, receiver: Receiver) {
        self.list.insert(who, receiver);
    }

    pub(crate) fn leave(&mut self, who: Address) -> Option<Receiver> {
        self.list.remove(&who)
    }

    /// A question leaves, behind all before `nxt`.
    pub(crate) fn asked(&mut self, sync: u32, nxt: u64, now: Instant) {
        if self.asked.len() >= ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back((sync, now, nxt));
    }

    /// A receiver tells how far it is; `nxt` is the next octet that has not been sent. An older report than the last
    /// changes nothing: false.
    pub(crate) fn report(&mut self, who: Address, control: &Control, spans: &[Span], nxt: u64, now: Instant) -> bool {
        let asked = self.asked.iter().find(|it| it.0 == control.echo);
        let Some(it) = self.list.get_mut(&who) else {
            return false;
        };
        if control.rseq < it.rseq || !at_or_before(it.echo, control.echo) {
            return false;
        }
        if control.echo != it.echo {
            it.missed = 0;
        }
        if control.rseq > it.rseq || control.rseq >= nxt {
            it.behind = None;
        }
        if control.rseq < nxt {
            it.behind.get_or_insert(now);
        }
        let told = spans.last().map_or(control.rseq, |it| it.right);
        let told = told.max(asked.map_or(0, |it| it.2));
        it.lost += lacking(control.rseq, spans, it.told, told);
        it.told = it.told.max(told);
        it.rseq = control.rseq;
        it.alloc = it.alloc.max(control.alloc);
        it.echo = control.echo;
        it.spans.clear();
        it.spans.extend_from_slice(spans);
        true
    }

    /// What all say together, with `sync` the number of the last question and `nxt` the next octet. Those who are done
    /// say no more. None where there is nobody, though somebody should be.
    pub(crate) fn together(&mut self, sync: u32, nxt: u64, room: u64) -> Option<GroupStatus> {
        if self.active().next().is_none() {
            self.most_lost = 0;
            let control = Control { rseq: nxt, alloc: nxt.saturating_add(room), echo: sync };
            let spans = Vec::new();
            return self.is_enough().then_some(GroupStatus { control, spans });
        }
        let mut control = Control { rseq: u64::MAX, alloc: u64::MAX, echo: sync };
        for it in self.active() {
            control.rseq = control.rseq.min(it.rseq);
            control.alloc = control.alloc.min(it.alloc);
            if sync.wrapping_sub(it.echo) > sync.wrapping_sub(control.echo) {
                control.echo = it.echo;
            }
        }
        let spans = self.had_by_all(control.rseq);
        self.look_who_loses_most(control.echo);
        Some(GroupStatus { control, spans })
    }

    /// What all have above `rseq`, which one of them has told.
    fn had_by_all(&self, rseq: u64) -> Vec<Span> {
        let mut common = vec![Span { left: rseq.saturating_add(1), right: u64::MAX }];
        for it in self.active() {
            let whole = Span { left: 0, right: it.rseq };
            let runs = core::iter::once(&whole).chain(&it.spans);
            common = intersection(&common, runs);
            if common.is_empty() {
                break;
            }
        }
        common
    }

    /// All have answered the question `echo`. The losses that count are those of the one who had lost most *before*:
    /// whoever has just lost most among many is another one each time.
    fn look_who_loses_most(&mut self, echo: u32) {
        if self.echoed.replace(echo) == Some(echo) {
            return;
        }
        let worst = self.active().max_by_key(|it| it.lately);
        self.most_lost = worst.map_or(u64::MAX, |it| it.lost);
        for it in self.list.values_mut() {
            it.lately = it.lately / 8 * 7 + core::mem::take(&mut it.lost);
        }
        while let Some(asked) = self.asked.front()
            && asked.0 != echo
            && at_or_before(asked.0, echo)
        {
            self.asked.pop_front();
        }
    }

    /// WTIMER has expired: those who have not answered `sync`, or, where it is none, are the farthest behind with their
    /// answers, have missed one question more. Who has missed too many.
    pub(crate) fn expired(&mut self, sync: Option<u32>, last: u32) -> Vec<Address> {
        let farthest = self.active().map(|it| last.wrapping_sub(it.echo)).max();
        let mut silent = Vec::new();
        for (who, it) in self.list.iter_mut().filter(|(_, it)| !it.done) {
            let behind = last.wrapping_sub(it.echo);
            let missed = match sync {
                Some(sync) => !at_or_before(sync, it.echo),
                None => Some(behind) == farthest && behind > 0,
            };
            if missed {
                it.missed += 1;
                if it.missed >= self.tries {
                    silent.push(*who);
                }
            }
        }
        silent
    }

    /// Those whose room holds all others back.
    pub(crate) fn shut(&self) -> Vec<Address> {
        let least = self.active().map(|it| it.alloc).min();
        let all = self.list.iter().filter(|(_, it)| !it.done);
        all.filter(|(_, it)| Some(it.alloc) == least).map(|(who, _)| *who).collect()
    }

    /// All have everything, and there are enough of them.
    pub(crate) fn are_done(&self) -> bool {
        self.is_enough() && self.active().next().is_none()
    }

    /// What all can take: the least of each value.
    pub(crate) fn rates(&self) -> Option<Rates> {
        let least = |one: u32, other: u32| match (one, other) {
            (0, it) | (it, 0) => it,
            (one, other) => one.min(other),
        };
        self.active().filter_map(|it| it.rates).reduce(|one, other| {
            let slower = match (one.inrate, other.inrate) {
                (0, _) => other,
                (_, 0) => one,
                (a, b) if b < a => other,
                (_, _) => one,
            };
            Rates { maxdata: least(one.maxdata, other.maxdata), inrate: slower.inrate, inburst: slower.inburst, ..one }
        })
    }
}

/// Octets from `from` to `to` that are neither below `rseq` nor in `spans`.
fn lacking(rseq: u64, spans: &[Span], from: u64, to: u64) -> u64 {
    let from = from.max(rseq);
    let had = spans.iter().map(|it| it.right.min(to).saturating_sub(it.left.max(from)));
    to.saturating_sub(from).saturating_sub(had.sum())
}

/// What is in both; each in order and without overlap.
fn intersection<'a>(one: &[Span], other: impl Iterator<Item = &'a Span>) -> Vec<Span> {
    let mut common = Vec::new();
    let mut one = one.iter().copied().peekable();
    for b in other {
        while let Some(&a) = one.peek() {
            let (left, right) = (a.left.max(b.left), a.right.min(b.right));
            if left < right {
                common.push(Span { left, right });
            }
            if a.right > b.right {
                break;
            }
            one.next();
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Instant = Instant::ZERO;

    const fn span(left: u64, right: u64) -> Span {
        Span { left, right }
    }

    fn who(n: u8) -> Address {
        Address::from(core::net::Ipv4Addr::from([n; 4]))
    }

    fn receiver(rseq: u64, alloc: u64, echo: u32) -> Receiver {
        Receiver {
            key: Key(1),
            to: IpAddr::from([10, 0, 0, 1]),
            rseq,
            alloc,
            echo,
            spans: Vec::new(),
            rates: None,
            behind: None,
            told: rseq,
            lost: 0,
            lately: 0,
            missed: 0,
            done: false,
        }
    }

    fn of(list: &[(u64, u64, u32)]) -> Receivers {
        let mut receivers = Receivers::new(&Config::default());
        for (n, &(rseq, alloc, echo)) in (0..).zip(list) {
            receivers.join(who(n), receiver(rseq, alloc, echo));
        }
        receivers
    }

    #[test]
    fn together_they_have_what_each_has_and_allow_what_each_allows() {
        let mut receivers = of(&[(100, 900, 7), (300, 800, u32::MAX), (200, 950, 3)]);
        receivers.one(who(0)).unwrap().spans = vec![span(150, 400), span(500, 600)];
        receivers.one(who(2)).unwrap().spans = vec![span(250, 350), span(550, 700)];
        receivers.one(who(1)).unwrap().spans = vec![span(320, 580)];
        let together = receivers.together(8, 700, 0).unwrap();
        let expected = Control { rseq: 100, alloc: 800, echo: u32::MAX };
        assert_eq!(together.control, expected);
        let expected = [span(150, 200), span(250, 300), span(320, 350), span(550, 580)];
        assert_eq!(together.spans, expected);
    }

    #[test]
    fn nobody_says_nothing_unless_nobody_is_needed() {
        let config = Config { min_receivers: 0, ..Config::default() };
        assert_eq!(of(&[]).together(5, 100, 10), None);
        let together = Receivers::new(&config).together(5, 100, 10).unwrap();
        assert_eq!((together.control.rseq, together.control.echo), (100, 5));
        let mut done = of(&[(100, 100, 5)]);
        assert!(!done.are_done());
        done.one(who(0)).unwrap().done = true;
        assert!(done.are_done());
        assert_eq!(done.together(6, 120, 0).unwrap().control.rseq, 120);
    }

    #[test]
    fn an_overtaken_report_changes_nothing() {
        let mut receivers = of(&[(100, 900, 7)]);
        let control = |rseq, echo| Control { rseq, alloc: 900, echo };
        receivers.report(who(0), &control(200, 8), &[], 300, NOW);
        receivers.report(who(0), &control(150, 8), &[span(160, 170)], 300, NOW);
        receivers.report(who(0), &control(300, 7), &[], 300, NOW);
        let it = receivers.one(who(0)).unwrap();
        assert_eq!((it.rseq, it.echo, it.spans.len()), (200, 8, 0));
    }

    #[test]
    fn who_answers_nothing_is_named_after_the_tries() {
        let mut receivers = of(&[(0, 9, 5), (0, 9, 4)]);
        receivers.tries = 2;
        assert_eq!(receivers.expired(None, 5), []);
        assert_eq!(receivers.expired(Some(6), 6), [who(1)]);
    }

    #[test]
    fn the_losses_of_the_one_who_lost_most_before_are_those_that_count() {
        let mut receivers = of(&[(100, 900, 6), (100, 900, 6)]);
        let mut lost = |echo, nxt, spans: [&[Span]; 2]| {
            receivers.asked(echo, nxt, NOW);
            for (n, spans) in (0..).zip(spans) {
                let control = Control { rseq: 100, alloc: 900, echo };
                receivers.report(who(n), &control, spans, 900, NOW);
                receivers.report(who(n), &control, spans, 900, NOW);
            }
            receivers.together(echo, 900, 0).unwrap();
            receivers.most_lost
        };
        let much: &[Span] = &[span(150, 160)];
        let little: &[Span] = &[span(110, 300)];
        // Nobody had lost anything before; whose losses count is the same each time.
        assert_eq!(lost(7, 300, [much, little]), 10);
        assert_eq!(lost(8, 400, [much, &[span(110, 350)]]), 100);
        // What was told before is not told again.
        assert_eq!(lost(9, 400, [much, much]), 0);
    }

    proptest! {
        #[test]
        fn an_intersection_is_what_is_in_both(one: Vec<(u8, u8)>, other: Vec<(u8, u8)>) {
            let of = |runs: Vec<(u8, u8)>| {
                let mut spans = crate::spans::Spans::default();
                for (left, right) in runs {
                    spans.insert(left.into(), right.into(), |_, _| {});
                }
                spans
            };
            let (one, other) = (of(one), of(other));
            let (a, b): (Vec<_>, Vec<_>) = (one.iter().collect(), other.iter().collect());
            let common = intersection(&a, b.iter());
            for n in 0..255 {
                let found = common.iter().any(|it| it.left <= n && n < it.right);
                prop_assert_eq!(found, one.contains(n, n + 1) && other.contains(n, n + 1));
            }
        }
    }
}
