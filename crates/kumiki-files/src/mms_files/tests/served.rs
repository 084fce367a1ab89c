//! A server whose client is a test.

use super::*;

/// A server whose client is a test: what it says goes to the server by hand, at times of its own.
struct Served {
    graph: Graph,
    task: TaskId,
    below: DeviceId,
    server: NodeId,
    session: Handle,
}

impl Served {
    fn new(config: Config, memory: Memory) -> Self {
        let mut graph = Graph::new(1, 0);
        let task = graph.add_task("cpu");
        let below = graph.add_device("mms", Service::CONNECTION).unwrap();
        let node = FileServer::new(config, Guard::new(Box::new(memory)));
        let server = graph.add_node("server", task, Box::new(node)).unwrap();
        graph.connect("server", "mms").unwrap();
        graph.start(Instant::ZERO).unwrap();
        let mut served = Self { graph, task, below, server, session: Handle::default() };
        served.until(Instant::ZERO);
        let association = Association {
            initiate: Some(Box::new(Initiate { services_supported: CLIENT_SERVICES, ..Settings::default().initiate })),
            ..Association::default()
        };
        let offered = Offered {
            provider: Handle { index: 7, generation: 7 },
            parameters: Parameters::of(association),
            ..Offered::default()
        };
        let said = served.says(Instant::ZERO, Indication::Offered(Box::new(offered)));
        let accepted =
            said.into_iter().find_map(|it| if let Request::Accept(accept) = it { Some(accept.user) } else { None });
        let session = accepted.unwrap();
        served.session = session;
        let credit = Credit::messages(8);
        served.says(Instant::ZERO, Indication::Credit { session, credit });
        served
    }

    /// Lets time pass.
    fn until(&mut self, end: Instant) -> Vec<Request> {
        loop {
            let now = self.graph.next_timer().unwrap_or(end).min(end);
            self.graph.fire(now);
            while self.graph.waiting(self.task).is_some() {
                self.graph.run(self.task, now, 1);
            }
            if now >= end {
                let said = core::iter::from_fn(|| self.graph.output());
                return said.map(|it| it.request).collect();
            }
        }
    }

    fn says(&mut self, now: Instant, indication: Indication) -> Vec<Request> {
        self.graph.input(now, self.below, indication);
        self.until(now)
    }

    fn associations(&self) -> usize {
        let server = self.graph.protocol::<FileServer>(self.server);
        server.unwrap().associations()
    }
}

#[test]
fn a_silent_client_that_has_a_file_locked_is_ended_sooner() {
    let seconds = |it| Instant::ZERO + Duration::from_secs(it);
    for (locks, ends_at) in [(true, 60), (false, 600)] {
        let mut served = Served::new(Config::default(), store(&[("a", b"abc")]));
        assert_eq!(served.associations(), 1);
        let session = served.session;
        let mut says = |pdu| {
            let what = Special::new(pdu);
            served.says(seconds(0), Indication::Special { session, what });
        };
        if locks {
            let obtain =
                ObtainFile { source_file_server: None, source_file: "here".into(), destination_file: "a".into() };
            let obtain = MmsRequest::ObtainFile(Box::new(obtain));
            says(Pdu::request(1, obtain));
            // The file that the server writes now is for nobody else.
            let (invoke, service) = (1, opened(3));
            says(Pdu::Response { invoke, service });
        } else {
            let open = MmsRequest::FileOpen(FileOpen { file_name: "a".into(), initial_position: 0 });
            says(Pdu::request(1, open));
        }
        served.until(seconds(ends_at - 1));
        assert_eq!(served.associations(), 1, "{locks}");
        served.until(seconds(ends_at));
        assert_eq!(served.associations(), 0, "{locks}");
    }
}
