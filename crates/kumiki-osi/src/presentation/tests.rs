//! Two ends over the whole stack, and ends whose peer says what it likes.

use kumiki_graph::Parameters;
use kumiki_graph::{DeviceId, Duration, NodeId, Report};
use kumiki_octets::Page;
use kumiki_octets::Payload;
use kumiki_osi_service::Association;
use kumiki_osi_service::presentation::{Context as Proposed, Value};
use kumiki_osi_service::session::{FunctionalUnits, Resync, TokenSetting};
use proptest::prelude::*;

use super::*;
use crate::acse::{self, Acse};
use crate::session::{self, Session};
use crate::tp0::{self, Tp0};
use crate::tpkt::{self, Tpkt};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_testkit::bench::{Bench, hex};

mod conversation;
mod wrong;

pub(crate) const CALLER: Handle = Handle { index: 10, generation: 1 };
pub(crate) const LISTENER: Handle = Handle { index: 20, generation: 1 };
pub(crate) const CALLED: Handle = Handle { index: 21, generation: 1 };

/// Abstract syntaxes that nobody else has.
pub(crate) const A: Oid = Oid::of(&[1, 3, 9999, 1]);
pub(crate) const B: Oid = Oid::of(&[1, 3, 9999, 2]);
pub(crate) const C: Oid = Oid::of(&[1, 3, 9999, 3]);

pub(crate) struct Pair {
    pub(crate) bench: Bench,
    pub(crate) users: [NodeId; 2],
    pub(crate) devices: [DeviceId; 2],
    presentations: [NodeId; 2],
}

fn end(bench: &mut Bench, name: &str, with_acse: bool) -> (NodeId, DeviceId, NodeId) {
    let [socket, pipe, tpkt, tp0, session, presentation, acse, user] =
        ["socket", "pipe", "tpkt", "tp0", "session", "presentation", "acse", "user"]
            .map(|layer| format!("{layer} {name}"));
    let device = bench.device(&socket);
    bench.node(&pipe, &[&socket], Pipe::new(pipe::Config::default()));
    bench.node(&tpkt, &[&pipe], Tpkt::new(tpkt::Config::default()));
    bench.node(&tp0, &[&tpkt], Tp0::new(tp0::Config::default()));
    let config = session::Config { functional_units: session::Config::ALL, ..session::Config::default() };
    bench.node(&session, &[&tp0], Session::new(config));
    let node = bench.node(&presentation, &[&session], Presentation::new(Config::default()));
    let mut top = presentation;
    if with_acse {
        bench.node(&acse, &[&top], Acse::new(acse::Config::default()));
        top = acse;
    }
    (bench.user(&user, &top, &[]), device, node)
}

pub(crate) fn association(contexts: &[(ContextId, Oid)]) -> Association {
    Association {
        contexts: contexts.iter().map(|(id, syntax)| Proposed::basic(*id, *syntax)).collect(),
        // Without tokens either side may begin a release.
        session: kumiki_osi_service::session::Options {
            functional_units: FunctionalUnits::DUPLEX.or(FunctionalUnits::TYPED_DATA),
            ..kumiki_osi_service::session::Options::default()
        },
        ..Association::default()
    }
}

impl Pair {
    pub(crate) fn new(with_acse: bool) -> Self {
        let mut bench = Bench::new();
        let (user_a, device_a, a) = end(&mut bench, "a", with_acse);
        let (user_b, device_b, b) = end(&mut bench, "b", with_acse);
        bench.start();
        Self { bench, users: [user_a, user_b], devices: [device_a, device_b], presentations: [a, b] }
    }

    pub(crate) fn say(&mut self, user: usize, request: Request) {
        self.bench.say(self.users[user], request);
    }

    pub(crate) fn listen(&mut self, association: Association) {
        let open = Open {
            user: LISTENER,
            mode: Mode::Passive { backlog: 1 },
            parameters: Parameters::of(association),
            ..Open::default()
        };
        self.say(1, Request::Open(Box::new(open)));
    }

    pub(crate) fn call(&mut self, association: Association, data: Option<&str>) {
        let open = Open {
            user: CALLER,
            parameters: Parameters::of(association),
            data: data.map(|data| Message::from_octets(&hex(data))),
            ..Open::default()
        };
        self.say(0, Request::Open(Box::new(open)));
    }

    pub(crate) fn join(&mut self) {
        let [a, b] = self.devices;
        self.bench.join(a, b);
        self.exchange();
    }

    pub(crate) fn exchange(&mut self) -> Vec<(DeviceId, Vec<u8>)> {
        let [a, b] = self.devices;
        self.bench.exchange(a, b)
    }

    pub(crate) fn offered(&mut self) -> Offered {
        let heard = self.bench.heard(self.users[1]);
        let Some(Indication::Offered(offered)) = heard.into_iter().last() else {
            panic!("nothing was offered");
        };
        *offered
    }

    pub(crate) fn answer(&mut self, session: Handle, association: Option<Association>, data: Option<&str>) {
        self.accept(session, association, data);
        self.exchange();
    }

    /// The same, and what is sent stays where it is.
    pub(crate) fn accept(&mut self, session: Handle, association: Option<Association>, data: Option<&str>) {
        let accept = Accept {
            session,
            user: CALLED,
            parameters: association.map(Box::new).into(),
            data: data.map(|data| Message::from_octets(&hex(data))),
            ..Accept::default()
        };
        self.say(1, Request::Accept(Box::new(accept)));
    }

    pub(crate) fn opened(&mut self) -> Opened {
        let heard = self.bench.heard(self.users[0]);
        let Some(Indication::Opened(opened)) = heard.into_iter().next() else {
            panic!("nothing was opened");
        };
        *opened
    }

    /// All that a user heard, in words; credit not.
    pub(crate) fn heard(&mut self, user: usize) -> Vec<String> {
        let octets = |data: &Option<Message>| match data {
            Some(data) => format!(" {}", text(data)),
            None => String::new(),
        };
        let word = |heard: Indication| match heard {
            Indication::Opened(opened) => Some(format!("opened{}", octets(&opened.data))),
            Indication::Offered(offered) => Some(format!("offered{}", octets(&offered.data))),
            Indication::Credit { .. } => None,
            Indication::Special { what, .. } if what.is::<PData>() => {
                let values = what.take::<PData>().unwrap().0;
                let word = |it: &Value| format!("{}: {}", it.context, text(&it.data));
                let values: Vec<_> = values.iter().map(word).collect();
                Some(values.join(", "))
            }
            Indication::Aborted { reason, data, .. } => Some(format!("aborted: {reason}{}", octets(&data))),
            Indication::Released { data, .. } => Some(format!("released{}", octets(&data))),
            Indication::Closed { .. } => Some("closed".to_owned()),
            Indication::Special { what, .. } => {
                let primitive = what.take::<Primitive>().expect("a primitive of session");
                let data = primitive.payload().cloned();
                let name = format!("{primitive:?}");
                let name = name.split_once(' ').map_or(&name[..], |(name, _)| name);
                Some(format!("{name}{}", octets(&data)))
            }
            other @ (Indication::Unit(_)
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)) => Some(format!("{other:?}")),
        };
        let heard = self.bench.heard(self.users[user]);
        heard.into_iter().filter_map(word).collect()
    }

    pub(crate) fn values(&mut self, user: usize, session: Handle, values: &[(ContextId, &str)]) {
        let value =
            |(context, data): &(ContextId, &str)| Value { context: *context, data: Message::from_octets(&hex(data)) };
        let values = values.iter().map(value).collect();
        self.say(user, Request::special(session, PData(values)));
    }

    pub(crate) fn release(&mut self, user: usize, session: Handle, data: Option<&str>) {
        let data = data.map(|data| Message::from_octets(&hex(data)));
        self.say(user, Request::Release { session, data });
    }

    pub(crate) fn abort(&mut self, user: usize, session: Handle, reason: Reason, data: Option<&str>) {
        let data = data.map(|data| Message::from_octets(&hex(data)));
        self.say(user, Request::Abort { session, reason, data });
    }

    /// What a peer's session sends as a TSDU of its own to one end.
    pub(crate) fn inject(&mut self, user: usize, tsdu: &[u8]) {
        let len = u16::try_from(7 + tsdu.len()).unwrap().to_be_bytes();
        let header = [3, 0, len[0], len[1], 2, 0xf0, 0x80];
        let tpkt = [&header[..], tsdu].concat();
        self.bench.octets(self.devices[user], &tpkt);
    }

    fn presentation(&mut self, user: usize) -> &Presentation {
        let node = self.presentations[user];
        self.bench.graph.protocol_mut::<Presentation>(node).unwrap()
    }

    /// How many octets the nodes of these layers have copied.
    pub(crate) fn copied(&self, layers: &[&str]) -> u64 {
        let ours = |name: &str| layers.iter().any(|layer| name.starts_with(layer));
        let accounts = self.bench.graph.accounts();
        accounts.filter(|(name, _)| ours(name)).map(|(_, account)| account.copied).sum()
    }
}

fn text(data: &Message) -> String {
    let octets = data.to_vec();
    if octets.len() > 24 {
        return format!("{} octets", octets.len());
    }
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A connection with contexts 1 (A) and 3 (B): the handles of both.
fn stand(pair: &mut Pair) -> [Handle; 2] {
    pair.listen(association(&[(1, A), (2, B)]));
    pair.call(association(&[(1, A), (3, B)]), None);
    pair.join();
    let offered = pair.offered();
    pair.answer(offered.provider, None, None);
    let opened = pair.opened();
    pair.heard(1);
    [opened.provider, offered.provider]
}
