#![allow(clippy::cast_precision_loss, reason = "small numbers in tests")]

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::{Message, Pattern};
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::atm::cell::rm::{CellRate, Rm};

use super::*;
use crate::atm::sar::{HOST, LINE};
use crate::atm::{Erica, Feedback, OutputConfig, PortVc, Sar, SarConfig, Slots, Switch};
use crate::testing::Bench;
use crate::{Rate, Unit, Wire};

const fn at_ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const fn rate(cells: u64) -> CellRate {
    CellRate::per_second(cells)
}

/// A backward RM cell that allows so much.
fn allowing(cells: u64) -> Rm {
    Rm { backward: true, explicit: rate(cells), ..Rm::default() }
}

/// The kinds of the next `count` in-rate cells, sent 1 ms apart from `from` on.
fn kinds(source: &mut Source, count: u64, from: u64, (data, backward): (bool, bool)) -> String {
    let mut all = String::new();
    for k in 0..count {
        let now = at_ms(from + k);
        let Some(kind) = source.next(now, data, backward) else {
            all.push('.');
            continue;
        };
        if kind == Next::Forward {
            source.forward(now);
        }
        source.sent(now, kind);
        all.push(match kind {
            Next::Forward => 'F',
            Next::Backward => 'B',
            Next::Data => 'd',
        });
    }
    all
}

#[test]
fn in_rate_cells_follow_each_other_as_rule_3_says() {
    let config = AbrConfig { nrm: 6, ..AbrConfig::new(rate(1000)) };
    // (a): the first is an RM cell, and every sixth; (c): the others are data.
    assert_eq!(kinds(&mut Source::new(config), 14, 0, (true, false)), "FdddddFdddddFd");
    // (b): one backward cell between forward ones where there are data, and all where there are none.
    assert_eq!(kinds(&mut Source::new(config), 14, 0, (true, true)), "FBddddFBddddFB");
    assert_eq!(kinds(&mut Source::new(config), 14, 0, (false, true)), "FBBBBBFBBBBBFB");
    assert_eq!(kinds(&mut Source::new(config), 3, 0, (false, false)), "...");
    // (a): after Trm an RM cell goes when Mrm cells have.
    let slow = AbrConfig { trm: Duration::from_millis(4), mrm: 2, ..config };
    assert_eq!(kinds(&mut Source::new(slow), 12, 0, (true, false)), "FdddFdddFddd");
    let mut source = Source::new(slow);
    assert_eq!(kinds(&mut source, 2, 0, (true, false)), "Fd");
    assert_eq!(kinds(&mut source, 3, 100, (true, false)), "dFd");
}

#[test]
fn rates_go_up_and_down_by_rules_8_and_9() {
    let config = AbrConfig { icr: rate(1600), mcr: rate(1000), ..AbrConfig::new(rate(16_000)) };
    let mut source = Source::new(config);
    let mut seen = Vec::new();
    let mut hear = |source: &mut Source, rm: Rm| {
        source.backward(&rm);
        seen.push(source.acr().parts() / CellRate::PARTS);
    };
    for rm in [
        allowing(20_000),                                               // up by 16000 / 16
        allowing(20_000),                                               // again
        Rm { no_increase: true, ..allowing(20_000) },                   // stays
        Rm { congestion: true, ..allowing(20_000) },                    // down by a sixteenth
        Rm { congestion: true, no_increase: true, ..allowing(20_000) }, // likewise
        allowing(2_000),                                                // up, and not above ER
        allowing(10),                                                   // not below MCR
        Rm { congestion: true, ..allowing(20_000) },                    // nor so
    ] {
        hear(&mut source, rm);
    }
    assert_eq!(seen, [2600, 3600, 3600, 3375, 3164, 2000, 1000, 1000]);
    // Alone, and with nobody against it: fifteen steps to PCR and no further.
    let steps: Vec<u64> = (0..17)
        .map(|_| {
            source.backward(&allowing(20_000));
            source.acr().parts() / CellRate::PARTS
        })
        .collect();
    let expected: Vec<u64> = (2..=16).map(|step| step * 1000).chain([16_000, 16_000]).collect();
    assert_eq!(steps, expected);
    assert_eq!(source.rm(), Rm { explicit: rate(16_000), current: rate(16_000), minimum: rate(1000), ..Rm::default() });
}

#[test]
fn silence_takes_the_rate_back_by_rule_5() {
    let config = AbrConfig { icr: rate(1000), ..AbrConfig::new(rate(16_000)) };
    let mut source = Source::new(config);
    assert_eq!(source.next(at_ms(0), true, false), Some(Next::Forward));
    assert_eq!(source.forward(at_ms(0)).current, rate(1000));
    source.sent(at_ms(0), Next::Forward);
    source.backward(&allowing(16_000));
    // 500 ms is no longer than ADTF, 501 ms is.
    assert_eq!(source.clone().forward(at_ms(500)).current, rate(2000));
    assert_eq!(source.forward(at_ms(501)).current, rate(1000));
}

#[test]
fn without_answers_rule_6_cuts_the_rate() {
    // CRM is 64 / 32 = 2.
    let config = AbrConfig { tbe: 64, mcr: rate(100), ..AbrConfig::new(rate(16_000)) };
    let mut source = Source::new(config);
    let said = |source: &mut Source| {
        let rm = source.forward(at_ms(1));
        source.sent(at_ms(1), Next::Forward);
        rm.current.parts() / CellRate::PARTS
    };
    assert_eq!([(); 4].map(|()| said(&mut source)), [16_000, 16_000, 15_000, 14_062]);
    // A notification is no answer; an answer is, though it lets nothing grow.
    source.backward(&Rm { notification: true, no_increase: true, ..allowing(16_000) });
    assert_eq!(said(&mut source), 13_183);
    source.backward(&Rm { no_increase: true, ..allowing(16_000) });
    assert_eq!([(); 3].map(|()| said(&mut source)), [13_183, 13_183, 12_359]);
    for _ in 0..200 {
        said(&mut source);
    }
    assert_eq!(source.acr(), rate(100));
    let mut never = Source::new(AbrConfig { cdf: None, ..config });
    assert_eq!([(); 4].map(|()| said(&mut never)), [16_000; 4]);
}

#[test]
fn what_may_be_exposed_bounds_the_initial_rate() {
    let config = AbrConfig { tbe: 1000, frtt: Duration::from_millis(100), ..AbrConfig::new(rate(16_000)) };
    assert_eq!((config.initial(), config.crm()), (rate(10_000), 32));
    assert_eq!(AbrConfig { mcr: rate(12_000), ..config }.initial(), rate(12_000));
    assert_eq!(AbrConfig::new(rate(16_000)).initial(), rate(16_000));
    assert_eq!(AbrConfig::new(rate(16_000)).crm(), 524_288);
}

fn slots() -> Slots {
    Slots::new(Rate::OC3C)
}

const fn vc(port: usize, vci: u16) -> PortVc {
    PortVc { port, vpi: 0, vci }
}

fn channel(number: usize) -> u16 {
    100 + u16::try_from(number).unwrap()
}

/// Senders with ABR, each by an input of a switch, whose last port leads to one adapter that receives all.
struct Net {
    bench: Bench,
    senders: Vec<usize>,
    switch: usize,
    receiver: usize,
    /// Octets received by channel.
    received: Vec<u64>,
}

const PDU: usize = 4792; // 100 cells

impl Net {
    fn new(senders: usize, abr: AbrConfig, output: OutputConfig, propagation: Duration) -> Self {
        Self::leading(senders, abr, output, propagation, true)
    }

    /// Where `back` is false no cell comes back.
    fn leading(senders: usize, abr: AbrConfig, output: OutputConfig, propagation: Duration, back: bool) -> Self {
        let mut bench = Bench::default();
        let config = SarConfig { abr: Some(abr), ..SarConfig::new(slots()) };
        let mut outputs = vec![OutputConfig::new(slots(), 100_000); senders];
        outputs.push(output);
        let mut switch = Switch::new(Duration::from_micros(10), &outputs);
        for number in 0..senders {
            let (near, far) = (vc(number, 100), vc(senders, channel(number)));
            assert!(if back { switch.connect_both(near, far) } else { switch.connect(near, far) });
        }
        let all: Vec<usize> = (0..senders).map(|_| bench.add(Box::new(Sar::new(config)))).collect();
        let receiver = bench.add(Box::new(Sar::new(config)));
        let switch = bench.add(Box::new(switch));
        for (port, end) in all.iter().chain([&receiver]).enumerate() {
            let wire = bench.add(Box::new(Wire::new(propagation)));
            bench.plug((*end, LINE), (wire, 0));
            bench.plug((wire, 1), (switch, port));
        }
        Self { bench, senders: all, switch, receiver, received: vec![0; senders] }
    }

    /// Gives sender `number` so many PDUs at `at`.
    fn give(&mut self, number: usize, at: Instant, pdus: usize) {
        for _ in 0..pdus {
            let data = Message::generated(Pattern::Random { seed: 3 }, 0, PDU);
            let address = Vc { vpi: 0, vci: 100 }.address();
            self.bench.offer(at, (self.senders[number], HOST), Unit::Frame { data, address });
        }
    }

    /// Runs until `end`, and gives what each sender may send then, in cells per second.
    fn run(&mut self, end: Instant) -> Vec<u64> {
        self.bench.run_until(end);
        for (_, element, unit) in self.bench.take() {
            if let Unit::Frame { address, data } = unit
                && element == self.receiver
            {
                let number = (0..self.senders.len()).find(|it| Vc { vpi: 0, vci: channel(*it) }.address() == address);
                self.received[number.unwrap()] += data.len() as u64;
            }
        }
        let rates = |sender: &usize| self.bench.cell_rates(*sender).first().map_or(0, |(_, rate)| rate.parts() / 512);
        self.senders.iter().map(rates).collect()
    }

    /// What came by each channel in the next `ms` milliseconds, in cells of data.
    fn cells_in(&mut self, from: u64, ms: u64) -> Vec<f64> {
        self.run(at_ms(from));
        self.received.fill(0);
        self.run(at_ms(from + ms));
        self.received.iter().map(|octets| *octets as f64 / PDU as f64 * 100.0).collect()
    }
}

fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / shares.len() as f64 / shares.iter().map(|it| it * it).sum::<f64>()
}

fn line() -> CellRate {
    slots().rate()
}

fn erica() -> OutputConfig {
    let erica = Erica { interval: Duration::from_millis(1), target: 900_000, memory: 900_000, overload: 100_000 };
    OutputConfig { feedback: Some(Feedback::Erica(erica)), follow: true, ..OutputConfig::new(slots(), 10_000) }
}

#[test]
fn a_source_alone_rises_to_the_peak_in_steps() {
    let abr = AbrConfig { icr: rate(10_000), ..AbrConfig::new(rate(160_000)) };
    let mut net = Net::new(1, abr, OutputConfig::new(slots(), 1000), Duration::from_micros(100));
    net.give(0, Instant::ZERO, 200);
    let mut seen = vec![];
    for step in 1..1000 {
        let now = net.run(Instant::from_nanos(step * 100_000))[0];
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    // PCR / 16 for each RM cell that comes back: 10,000 more each time. The peak is known in nine bits of mantissa.
    let peak = CellRate::decode(rate(160_000).encode()).parts() / 512;
    let expected: Vec<u64> = (1..16).map(|step| step * 10_000).chain([peak]).collect();
    assert_eq!(seen, expected);
    net.run(at_ms(500));
    assert_eq!(net.bench.counter(net.receiver, "pdus_in"), 200);
}

#[test]
fn cells_go_at_the_rate_that_is_allowed() {
    for cells in [350_000, 176_000, 100_000, 12_345] {
        let abr = AbrConfig::new(rate(cells));
        let mut net = Net::new(1, abr, OutputConfig::new(slots(), 1000), Duration::ZERO);
        net.give(0, Instant::ZERO, 400);
        net.run(at_ms(100));
        let sent = net.bench.counter(net.senders[0], "cells_out");
        // Nothing is sent faster, but for a cell that a slot is off by; and the rate comes back rounded.
        let said = CellRate::decode(rate(cells).encode()).parts() / 512;
        assert!((said / 10 - 2..=cells / 10 + 2).contains(&sent), "{sent} of {cells}");
        // One of 32 is an RM cell.
        let rm = net.bench.counter(net.senders[0], "rm_forward");
        assert!(rm.abs_diff(sent / 32) <= 1, "{rm} of {sent}");
    }
}

#[test]
fn a_cell_costs_an_event_in_each_element_where_a_pdu_does_without_abr() {
    let cost = |abr| {
        let mut bench = Bench::default();
        let config = SarConfig { abr, ..SarConfig::new(slots()) };
        let ends = [(); 2].map(|()| bench.add(Box::new(Sar::new(config))));
        let wire = bench.add(Box::new(Wire::new(Duration::from_micros(100))));
        bench.plug((ends[0], LINE), (wire, 0));
        bench.plug((ends[1], LINE), (wire, 1));
        for _ in 0..100 {
            let data = Message::generated(Pattern::Random { seed: 3 }, 0, PDU);
            let address = Vc { vpi: 0, vci: 100 }.address();
            bench.offer(Instant::ZERO, (ends[0], HOST), Unit::Frame { data, address });
        }
        bench.run();
        assert_eq!(bench.counter(ends[1], "pdus_in"), 100);
        bench.events
    };
    // 100 PDUs of 100 cells: leaving, the wire, and the end of each; with ABR a cell's slot and the wire.
    assert_eq!(cost(None), 500);
    let cells = 100 * 100 * 32 / 31;
    let events = cost(Some(AbrConfig::new(line())));
    assert!((2 * cells..2 * cells + cells / 8).contains(&events), "{events} for {cells} cells");
}

#[test]
fn two_sources_share_by_erica() {
    // One begins at the full rate and the other, later, with next to nothing.
    for (icr, from) in [(353_207, 0), (353_207, 20), (1000, 20)] {
        let abr = AbrConfig { icr: rate(icr), rif: 0, ..AbrConfig::new(line()) };
        let mut net = Net::new(2, abr, erica(), Duration::from_micros(500));
        net.give(0, Instant::ZERO, 1000);
        net.give(1, at_ms(from), 1000);
        let shares = net.cells_in(100, 100);
        assert!(jain(&shares) > 0.99, "{shares:?}");
        // Nine tenths of the line and up to δ more, 31 of 32 cells of data.
        let sum: f64 = shares.iter().sum();
        let target = 353_207.5 * 0.9 * 31.0 / 32.0 / 10.0;
        assert!(sum <= target * 1.1 && sum > target * 0.96, "{sum} of {target}");
        assert_eq!(net.bench.counter(net.switch, "overflow"), 0);
        // The queue that the beginning leaves goes, and is short from then on.
        let before = net.bench.queues(net.switch).remove(0).1;
        net.run(at_ms(250));
        let after = net.bench.queues(net.switch).remove(0).1;
        assert!(after.since(&before).quantile(1.0) < 20);
    }
}

#[test]
fn marks_alone_let_rates_swing_and_hold_the_queue() {
    let output = OutputConfig { efci: Some(100), follow: true, ..OutputConfig::new(slots(), 10_000) };
    let abr = AbrConfig { icr: rate(20_000), rif: 6, ..AbrConfig::new(line()) };
    let mut net = Net::new(2, abr, output, Duration::from_micros(500));
    for number in 0..2 {
        net.give(number, Instant::ZERO, 2000);
    }
    net.run(at_ms(100));
    let before = net.bench.queues(net.switch).remove(0).1;
    net.received.fill(0);
    let (mut least, mut most) = (u64::MAX, 0);
    for ms in 101..400 {
        let now = net.run(at_ms(ms))[0];
        (least, most) = (least.min(now), most.max(now));
    }
    assert!(most > 2 * least, "{least} to {most}");
    // It goes to and fro about the threshold: what comes in a round trip is above it, and it may run empty.
    let queue = net.bench.queues(net.switch).remove(0).1.since(&before);
    assert!((100..1500).contains(&queue.quantile(1.0)), "{}", queue.quantile(1.0));
    assert!(queue.mean() < 300.0, "{}", queue.mean());
    // Both alike, and more than half of the line in 299 ms.
    let cells: Vec<f64> = net.received.iter().map(|octets| *octets as f64 / PDU as f64 * 100.0).collect();
    assert!(jain(&cells) > 0.99 && cells.iter().sum::<f64>() > 0.5 * 353_207.0 * 0.299, "{cells:?}");
    assert_eq!(net.bench.counter(net.switch, "overflow"), 0);
    assert!(net.bench.counter(net.senders[0], "rm_congested") > 10);
}

#[test]
fn a_long_queue_is_told_in_cells_that_go_back() {
    for (ci, ni) in [(Some(50), None), (None, Some(50))] {
        let feedback = Some(Feedback::Relative { ci, ni });
        let output = OutputConfig { feedback, follow: true, ..OutputConfig::new(slots(), 10_000) };
        let abr = AbrConfig { icr: rate(100_000), rif: 6, ..AbrConfig::new(line()) };
        let mut net = Net::new(2, abr, output, Duration::from_micros(100));
        for number in 0..2 {
            net.give(number, Instant::ZERO, 2000);
        }
        let rates = net.run(at_ms(200));
        assert!(net.bench.counter(net.switch, "rm_marked") > 100);
        let congested = net.bench.counter(net.senders[0], "rm_congested");
        assert_eq!(congested > 0, ci.is_some());
        let sum: u64 = rates.iter().sum();
        if ci.is_some() {
            assert!(sum < 450_000, "{rates:?}");
        } else {
            // Nobody is told to send less: they stay where the queue began.
            assert!((353_000..460_000).contains(&sum), "{rates:?}");
        }
    }
}

#[test]
fn a_source_that_hears_nothing_goes_down_to_the_minimum() {
    let abr = AbrConfig { tbe: 320, mcr: rate(1000), ..AbrConfig::new(rate(100_000)) };
    let output = OutputConfig::new(slots(), 1000);
    let mut net = Net::leading(1, abr, output, Duration::from_micros(100), false);
    net.give(0, Instant::ZERO, 100);
    // Ten RM cells at the peak, and then a sixteenth less with each.
    assert_eq!(net.run(at_ms(3)), [100_000]);
    assert!(net.run(at_ms(5))[0] < 90_000);
    assert_eq!(net.run(at_ms(2000)), [1000]);
    assert_eq!(net.bench.counter(net.senders[0], "rm_in"), 0);
}

#[test]
fn without_any_rate_rm_cells_go_out_of_rate() {
    let abr = AbrConfig { icr: CellRate::ZERO, ..AbrConfig::new(rate(100_000)) };
    let mut net = Net::new(1, abr, OutputConfig::new(slots(), 1000), Duration::from_micros(100));
    net.give(0, Instant::ZERO, 10);
    // The first one goes at once, and brings leave to send a sixteenth of the peak: but not what is to send back at the
    // far end, whose rate is nothing too.
    net.run(at_ms(950));
    assert_eq!(net.bench.counter(net.senders[0], "rm_out_of_rate"), 10);
    assert_eq!(net.bench.counter(net.receiver, "rm_in"), 10);
    assert_eq!(net.bench.counter(net.receiver, "rm_overwritten"), 9);
    assert_eq!(net.bench.counter(net.receiver, "pdus_in"), 0);
}

#[test]
fn a_damaged_rm_cell_is_not_heard() {
    let mut bench = Bench::default();
    let config = SarConfig { abr: Some(AbrConfig::new(line())), ..SarConfig::new(slots()) };
    let sar = bench.add(Box::new(Sar::new(config)));
    let plain = bench.add(Box::new(Sar::new(SarConfig::new(slots()))));
    let mut octets = allowing(10).octets();
    let cell = |octets: &[u8]| {
        Unit::Cells(crate::CellRun {
            id: 0,
            vpi: 0,
            vci: 100,
            clp: false,
            efci: false,
            payload: Message::from_octets(octets),
            count: 1,
            ends_pdu: false,
            rm: true,
            line: slots(),
            slot: 0,
        })
    };
    bench.offer(at_ms(1), (plain, LINE), cell(&octets));
    bench.offer(at_ms(1), (sar, LINE), cell(&octets));
    octets[3] ^= 1;
    bench.offer(at_ms(2), (sar, LINE), cell(&octets));
    bench.run();
    assert_eq!((bench.counter(sar, "rm_in"), bench.counter(sar, "rm_wrong")), (1, 1));
    assert_eq!(bench.counter(plain, "strangers"), 1);
    let address: Address = Vc { vpi: 0, vci: 100 }.address();
    assert_eq!(bench.cell_rates(sar), [(address, rate(10))]);
}
