//! Paths: what goes through layers without a stop goes the same way as with them.

use super::*;
use crate::Prices;
use crate::Work;

/// Adds one to the first octet of what goes up, takes one off what goes down, and hands it on; at a stop it writes that
/// down. What is odd does not go through.
struct Passing {
    name: &'static str,
    log: Log,
    users: usize,
}

impl Passing {
    fn boxed(name: &'static str, log: &Log) -> Box<dyn Protocol> {
        Box::new(Self { name, log: log.clone(), users: 0 })
    }

    fn change(unit: &mut Unit, by: i8) {
        let changed = octet(Some(&unit.data)).wrapping_add_signed(by);
        unit.data = Message::from_octets(&[changed]);
    }

    /// Whom or what the unit is for: of what is 100 or more there is none.
    fn port(unit: &Unit) -> u16 {
        u16::from(octet(Some(&unit.data)) / 100)
    }
}

impl Protocol for Passing {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn is_on_paths(&self) -> bool {
        true
    }

    fn bind(&mut self, _: Above, _: &[Key]) -> Result<(), String> {
        self.users += 1;
        Ok(())
    }

    fn pop_through(&mut self, _: Below, unit: &mut Unit) -> Option<Above> {
        if octet(Some(&unit.data)) % 2 == 1 {
            return None;
        }
        let to = Above(Self::port(unit));
        Self::change(unit, 2);
        Some(to)
    }

    fn push_through(&mut self, _: Above, unit: &mut Unit) -> Option<Below> {
        if octet(Some(&unit.data)) % 2 == 1 {
            return None;
        }
        let to = Below(Self::port(unit));
        Self::change(unit, -2);
        Some(to)
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        if let Request::Unit(mut unit) = request {
            let to = Below(Self::port(&unit));
            self.log.write(format!("{} down", self.name));
            Self::change(&mut unit, -2);
            cx.down(to, Request::Unit(unit));
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(mut unit) = indication {
            let to = Above(Self::port(&unit));
            self.log.write(format!("{} up", self.name));
            Self::change(&mut unit, 2);
            cx.up(to, Indication::Unit(unit));
        }
    }
}

/// What is told of a graph: its log, what went out, what each node did, and whether it stands still.
type GraphTrace = (Vec<String>, Vec<(u64, u8)>, Vec<(String, Account)>, bool);

/// A host of two passing layers with an echo on top, to which `octets` come; `set` sets it up.
fn told(octets: &[u8], set: impl FnOnce(&mut Graph)) -> GraphTrace {
    let log = Log::default();
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    let device = graph.add_device("dev", Service::FRAME).unwrap();
    graph.add_node("low", task, Passing::boxed("low", &log)).unwrap();
    graph.add_node("mid", task, Passing::boxed("mid", &log)).unwrap();
    graph.add_node("top", task, twice(&log)).unwrap();
    for (upper, lower) in [("low", "dev"), ("mid", "low"), ("top", "mid")] {
        graph.connect(upper, lower).unwrap();
    }
    set(&mut graph);
    graph.start(Instant::ZERO).unwrap();
    graph.run(task, Instant::ZERO, usize::MAX);
    for (at, octet) in (1..).zip(octets) {
        graph.input(ns(at), device, up(*octet));
        graph.run(task, ns(at), 2);
    }
    let accounts = graph.accounts().map(|(name, account)| (name.to_owned(), account)).collect();
    let out = outputs(&mut graph);
    (log.take(), out, accounts, graph.standstill().is_some())
}

/// Sends twice what it gets.
fn twice(log: &Log) -> Box<Scripted> {
    let log = log.clone();
    node(move |event, cx| {
        if let Event::Pop(from, indication) = event {
            let octet = octet(indication.message());
            log.write(format!("top up {octet}"));
            cx.down(from, down(octet));
            cx.down(from, down(octet + 1));
        }
    })
}

/// Without the stops, at which alone the two differ.
fn without_stops((log, ..): &GraphTrace) -> Vec<&String> {
    log.iter().filter(|line| !line.contains("low up") && !line.contains("mid up") && !line.ends_with("down")).collect()
}

fn stops((log, ..): &GraphTrace) -> usize {
    log.iter().filter(|line| line.starts_with("mid") || line.starts_with("low")).count()
}

#[test]
fn a_path_leads_where_the_layers_lead_and_counts_what_they_count() {
    // Even, odd, for a user that there is not, and for a layer that there is not.
    let octets = [10, 11, 150, 98, 96, 151, 97];
    let with = told(&octets, |_| {});
    let without = told(&octets, |graph| graph.set_paths(false));
    assert_eq!(with.1, without.1);
    assert_eq!(with.2, without.2);
    assert_eq!(without_stops(&with), without_stops(&without));
    let dropped: u64 = with.2.iter().flat_map(|(_, account)| account.drops.values()).sum();
    assert!(dropped > 3);
    assert!(stops(&with) > 0 && stops(&with) < stops(&without), "{with:?}");
}

#[test]
fn a_unit_that_waits_its_turn_keeps_it() {
    // Of the two that go down the first has the other behind it, and so stops at each layer.
    let (log, out, ..) = told(&[10], |_| {});
    assert_eq!(out, [(1, 10), (1, 11)]);
    assert!(log.contains(&"mid down".to_owned()), "{log:?}");
    assert!(!log.iter().any(|line| line.ends_with(" up")), "{log:?}");
}

#[test]
fn there_is_no_path_past_a_tap_or_a_price() {
    let without = told(&[10, 12], |graph| graph.set_paths(false));
    let tapped = |graph: &mut Graph| {
        let at = graph.access_points().next().unwrap().0;
        graph.tap(at);
    };
    assert_eq!(told(&[10, 12], tapped), without);
    let priced = |paths| {
        move |graph: &mut Graph| {
            let mut prices = Prices::default();
            prices.set(Work::Pop, 5_000);
            let low = graph.node("low").unwrap();
            graph.set_prices(low, prices);
            graph.set_paths(paths);
        }
    };
    let (with, without) = (told(&[10, 12], priced(true)), told(&[10, 12], priced(false)));
    assert_eq!((&with.1, &with.2), (&without.1, &without.2));
    assert!(with.0.contains(&"low up".to_owned()) && !with.0.contains(&"mid up".to_owned()), "{with:?}");
}

#[test]
fn steps_on_a_path_are_counted() {
    for steps in 1..9 {
        let set = |paths| {
            move |graph: &mut Graph| {
                graph.set_steps(steps);
                graph.set_paths(paths);
            }
        };
        let (with, without) = (told(&[10, 12], set(true)), told(&[10, 12], set(false)));
        assert_eq!((&with.1, &with.2, with.3), (&without.1, &without.2, without.3), "{steps} steps");
    }
}
