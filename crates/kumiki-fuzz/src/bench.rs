//! One host in the hands of a target: what comes in, what goes out, and time.

use kumiki_graph::{
    Above, Below, Context, DeviceId, Duration, Graph, Indication, Instant, Key, NodeId, Protocol, Request, Service,
    Shape, TaskId, Unit,
};
use kumiki_octets::Message;

/// A program that keeps the units it gets.
struct Ear {
    keys: Vec<Key>,
    units: Vec<Unit>,
}

impl Protocol for Ear {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::UNIT_DATA], below: (1, 1), keys: self.keys.clone() }
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, _: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.units.push(*unit);
        }
    }
}

/// A layer on the device `line` with a program above it.
pub(crate) struct Bench {
    graph: Graph,
    task: TaskId,
    line: DeviceId,
    ear: NodeId,
    now: Instant,
}

impl Bench {
    /// A layer of unit data, and a program for what comes under `keys`.
    pub(crate) fn datagrams(layer: Box<dyn Protocol>, keys: &[Key]) -> Self {
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("host");
        let line = graph.add_device("line", Service::UNIT_DATA).unwrap();
        graph.add_node("layer", task, layer).unwrap();
        let ear = Ear { keys: keys.to_vec(), units: Vec::new() };
        let ear = graph.add_node("ear", task, Box::new(ear)).unwrap();
        graph.connect("ear", "layer").unwrap();
        graph.connect("layer", "line").unwrap();
        graph.start(Instant::ZERO).unwrap();
        let mut bench = Self { graph, task, line, ear, now: Instant::ZERO };
        bench.run();
        bench.sent();
        bench
    }

    fn run(&mut self) {
        while self.graph.waiting(self.task).is_some() {
            self.graph.run(self.task, self.now, 1);
        }
    }

    /// Lets octets come in.
    pub(crate) fn octets(&mut self, octets: &[u8]) {
        let unit = Unit::of(Message::from_octets(octets));
        self.graph.input(self.now, self.line, Indication::Unit(Box::new(unit)));
        self.run();
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for step in 0.. {
            assert!(step < 100_000, "timers expire for ever");
            let Some(due) = self.graph.next_timer().filter(|due| *due <= until) else {
                break;
            };
            self.now = due;
            self.graph.fire(due);
            self.run();
        }
        self.now = until;
    }

    /// The next timer.
    pub(crate) fn next_timer(&mut self) -> Option<Instant> {
        self.graph.next_timer()
    }

    /// What the program has got since this was last asked.
    pub(crate) fn units(&mut self) -> Vec<Unit> {
        let ear = self.graph.protocol_mut::<Ear>(self.ear).unwrap();
        core::mem::take(&mut ear.units)
    }

    /// How many units have gone out since this was last asked.
    pub(crate) fn sent(&mut self) -> usize {
        let mut sent = 0;
        while let Some(output) = self.graph.output() {
            sent += usize::from(matches!(output.request, Request::Unit(_)));
        }
        sent
    }
}
