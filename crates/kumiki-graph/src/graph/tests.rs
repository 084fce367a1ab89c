//! The graph, seen from both sides: by its executor and by the protocols in it.

#![expect(clippy::wildcard_enum_match_arm, reason = "a scripted protocol names only the events that it acts on")]

mod assembly;
mod batch;
mod delivery;
mod pages;
mod path;
mod standstill;
mod time;

use std::sync::{Arc, Mutex};

use kumiki_octets::Message;

use super::*;
use crate::graph_error::GraphError;
use crate::{Above, Key, Service};
use crate::{Shape, Token, Unit};

/// What a protocol was told.
enum Event {
    Start,
    Push(Above, Request),
    Pop(Below, Indication),
    Expire(Token),
    Ready(Token),
    Settle,
}

type ScriptFn = Box<dyn FnMut(Event, &mut Context<'_>) + Send>;

/// A protocol that is one closure.
struct Scripted {
    shape: Shape,
    refuses: Option<&'static str>,
    passes_users_through: bool,
    /// What it was bound and attached to.
    joined: Log,
    act: ScriptFn,
}

impl Protocol for Scripted {
    fn shape(&self) -> Shape {
        self.shape.clone()
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.joined.write(format!("user {} {keys:?}", above.0));
        self.refuses.map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn passes_users_through(&self) -> bool {
        self.passes_users_through
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        self.joined.write(format!("on {name} by {}", below.0));
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        (self.act)(Event::Start, cx);
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        (self.act)(Event::Push(from, request), cx);
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        (self.act)(Event::Pop(from, indication), cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        (self.act)(Event::Expire(token), cx);
    }

    fn ready(&mut self, token: Token, cx: &mut Context<'_>) {
        (self.act)(Event::Ready(token), cx);
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        (self.act)(Event::Settle, cx);
    }
}

/// Offers unit data and stands on up to two layers that do, or that are devices.
fn node(act: impl FnMut(Event, &mut Context<'_>) + Send + 'static) -> Box<Scripted> {
    Box::new(Scripted {
        shape: Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (0, 2),
            keys: vec![Key::Only],
        },
        refuses: None,
        passes_users_through: false,
        joined: Log::default(),
        act: Box::new(act),
    })
}

/// What happened, in order.
#[derive(Clone, Default, Debug)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        core::mem::take(&mut self.0.lock().unwrap())
    }
}

fn unit(octet: u8) -> Unit {
    Unit { data: Message::from_octets(&[octet]), ..Unit::default() }
}

fn down(octet: u8) -> Request {
    Request::Unit(Box::new(unit(octet)))
}

fn up(octet: u8) -> Indication {
    Indication::Unit(Box::new(unit(octet)))
}

/// The first octet of the user data of `message`; 0 where there is none.
fn octet(message: Option<&Message>) -> u8 {
    message.map_or(0, |message| message.to_vec()[0])
}

const fn ns(n: u64) -> Instant {
    Instant::from_nanos(n)
}

/// Passes everything on, and writes it down under `name`.
fn relay(name: &'static str, log: &Log) -> Box<Scripted> {
    let log = log.clone();
    node(move |event, cx| match event {
        Event::Push(_, request) => {
            log.write(format!("{name} down {}", octet(request.message())));
            cx.down(Below(0), request);
        }
        Event::Pop(_, indication) => {
            log.write(format!("{name} up {}", octet(indication.message())));
            cx.up(Above(0), indication);
        }
        _ => {}
    })
}

/// Sends down what it gets, under the next number.
fn echo(name: &'static str, log: &Log) -> Box<Scripted> {
    let log = log.clone();
    node(move |event, cx| {
        if let Event::Pop(from, indication) = event {
            let octet = octet(indication.message());
            log.write(format!("{name} up {octet}"));
            cx.down(from, down(octet + 1));
        }
    })
}

/// Nodes of one task, the first on top, on a device of the frame service.
fn stack(nodes: Vec<(&str, Box<Scripted>)>) -> (Graph, TaskId, DeviceId) {
    let (mut graph, task, device) = unstarted(nodes);
    graph.start(Instant::ZERO).unwrap();
    graph.run(task, Instant::ZERO, usize::MAX);
    (graph, task, device)
}

/// As [`stack`], but nothing has run.
fn unstarted(nodes: Vec<(&str, Box<Scripted>)>) -> (Graph, TaskId, DeviceId) {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    let device = graph.add_device("dev", Service::FRAME).unwrap();
    let names: Vec<String> = nodes.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (name, node) in nodes {
        graph.add_node(name, task, node).unwrap();
    }
    let lower = names.iter().skip(1).map(String::as_str).chain(["dev"]);
    for (upper, lower) in names.iter().zip(lower) {
        graph.connect(upper, lower).unwrap();
    }
    (graph, task, device)
}

/// What has gone out: when, and its first octet.
fn outputs(graph: &mut Graph) -> Vec<(u64, u8)> {
    core::iter::from_fn(|| graph.output())
        .map(|output| (output.at.as_nanos(), octet(output.request.message())))
        .collect()
}
