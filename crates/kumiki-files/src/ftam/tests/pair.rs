//! Two ends, from FTAM to RFC 1006.

use kumiki_graph::Parameters;
use kumiki_graph::Special;
use kumiki_graph::{Accept, DeviceId, Handle, Indication, Mode, NodeId, Offered, Open, Opened, Request};
use kumiki_octets::{Message, Page};
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::data::DataElement;
use kumiki_osi_service::ftam::file::{BeginGroupRequest, OpenResponse};
use kumiki_osi_service::ftam::regime::{InitializeRequest, InitializeResponse};
use kumiki_osi_service::ftam::{Fpdu, FunctionalUnits, Kind, Primitive};

use crate::ftam::{Capabilities, Config, Ftam};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};
use kumiki_osi::tpkt::{self, Tpkt};
use kumiki_testkit::bench::Bench;

pub(super) const CALLER: Handle = Handle { index: 10, generation: 1 };
pub(super) const LISTENER: Handle = Handle { index: 20, generation: 1 };
pub(super) const CALLED: Handle = Handle { index: 21, generation: 1 };

/// The initiator is 0, the responder 1.
pub(super) const I: usize = 0;
pub(super) const R: usize = 1;

pub(super) struct Pair {
    pub(super) bench: Bench,
    pub(super) users: [NodeId; 2],
    pub(super) devices: [DeviceId; 2],
    pub(super) nodes: [NodeId; 2],
    pub(super) sessions: [Handle; 2],
    /// Data elements that each user may send.
    pub(super) credit: [u32; 2],
    /// What each user has got of strings.
    pub(super) content: [Message; 2],
}

fn end(bench: &mut Bench, name: &str, config: Config) -> (NodeId, DeviceId, NodeId) {
    let layer = |layer: &str| format!("{layer} {name}");
    let [socket, pipe, tpkt, tp0] = ["socket", "pipe", "tpkt", "tp0"].map(layer);
    let [session, presentation, acse, ftam] = ["session", "presentation", "acse", "ftam"].map(layer);
    let device = bench.device(&socket);
    bench.node(&pipe, &[&socket], Pipe::new(pipe::Config::default()));
    bench.node(&tpkt, &[&pipe], Tpkt::new(tpkt::Config::default()));
    bench.node(&tp0, &[&tpkt], Tp0::new(tp0::Config::default()));
    let below = Session::new(session::Config::default());
    bench.node(&session, &[&tp0], below);
    let below = Presentation::new(presentation::Config::default());
    bench.node(&presentation, &[&session], below);
    let below = Acse::new(acse::Config::default());
    bench.node(&acse, &[&presentation], below);
    let node = bench.node(&ftam, &[&acse], Ftam::new(config));
    (bench.user(&layer("user"), &ftam, &[]), device, node)
}

/// What both have where a transfer may restart.
pub(super) fn restarting(window: u32) -> Config {
    let config = Config::default();
    let units = config.capabilities.units | FunctionalUnits::RESTART_DATA_TRANSFER;
    Config {
        capabilities: Capabilities { units, checkpoint_window: window, ..config.capabilities },
        ..Config::default()
    }
}

/// An FPDU of this kind that says nothing.
pub(super) fn plain(kind: Kind) -> Fpdu {
    super::order::plain(kind)
}

impl Pair {
    /// Two ends of which one has called, and the other was asked.
    pub(super) fn called(config: &Config, request: Option<InitializeRequest>) -> Self {
        let mut pair = Self::listening_as(config);
        let initialize = request.map(|it| Box::new(Fpdu::InitializeRequest(Box::new(it))));
        let call = Open {
            user: CALLER,
            parameters: Parameters::of(Association { initialize, ..Association::default() }),
            ..Open::default()
        };
        pair.say(I, Request::Open(Box::new(call)));
        let [a, b] = pair.devices;
        pair.bench.join(a, b);
        pair.exchange();
        pair
    }

    /// Two ends of which one listens, and its line is there.
    pub(super) fn listening() -> Self {
        let mut pair = Self::listening_as(&Config::default());
        let [a, b] = pair.devices;
        pair.bench.join(a, b);
        pair
    }

    fn listening_as(config: &Config) -> Self {
        Self::beside(config, |_| {})
    }

    /// Two ends of which one listens, and what `more` puts beside them.
    pub(super) fn beside(config: &Config, more: impl FnOnce(&mut Bench)) -> Self {
        let mut bench = Bench::new();
        let (user_a, device_a, a) = end(&mut bench, "a", config.clone());
        let (user_b, device_b, b) = end(&mut bench, "b", config.clone());
        more(&mut bench);
        bench.start();
        let mut pair = Self {
            bench,
            users: [user_a, user_b],
            devices: [device_a, device_b],
            nodes: [a, b],
            sessions: [Handle::default(); 2],
            credit: [0; 2],
            content: [Message::new(), Message::new()],
        };
        let listen = Open { user: LISTENER, mode: Mode::Passive { backlog: 1 }, ..Open::default() };
        pair.say(R, Request::Open(Box::new(listen)));
        pair
    }

    /// Two ends in an FTAM regime.
    pub(super) fn stands(config: &Config) -> Self {
        let mut pair = Self::called(config, None);
        pair.offered();
        pair.accept(None);
        pair.exchange();
        pair.opened();
        pair
    }

    /// The same, and a file of this type is open.
    pub(super) fn open(config: &Config, opened: &OpenResponse) -> Self {
        let mut pair = Self::stands(config);
        pair.group(I, [Kind::SelectRequest, Kind::OpenRequest].map(plain));
        let opened = Fpdu::OpenResponse(Box::new(opened.clone()));
        pair.answer_group(R, [plain(Kind::SelectResponse), opened]);
        pair.heard(I);
        pair.heard(R);
        pair
    }

    pub(super) fn say(&mut self, user: usize, request: Request) {
        self.bench.say(self.users[user], request);
    }

    pub(super) fn exchange(&mut self) -> Vec<Vec<u8>> {
        let [a, b] = self.devices;
        let seen = self.bench.exchange(a, b);
        seen.into_iter().map(|(_, octets)| octets).collect()
    }

    pub(super) fn offered(&mut self) -> Box<Offered> {
        let heard = self.bench.heard(self.users[R]);
        let Some(Indication::Offered(offered)) = heard.into_iter().last() else {
            panic!("nothing was offered");
        };
        self.sessions[R] = offered.provider;
        offered
    }

    pub(super) fn accept(&mut self, response: Option<InitializeResponse>) {
        let initialize = response.map(|it| Box::new(Fpdu::InitializeResponse(Box::new(it))));
        let accept = Accept {
            session: self.sessions[R],
            user: CALLED,
            parameters: Parameters::of(Association { initialize, ..Association::default() }),
            ..Accept::default()
        };
        self.say(R, Request::Accept(Box::new(accept)));
    }

    pub(super) fn opened(&mut self) -> Box<Opened> {
        let heard = self.bench.heard(self.users[I]);
        let mut opened = None;
        for one in heard {
            if let Indication::Opened(it) = one {
                opened = Some(it);
            } else if let Indication::Credit { credit, .. } = one {
                self.credit[I] += credit.messages;
            } else {
                panic!("{one:?}")
            }
        }
        let opened = opened.expect("nothing was opened");
        self.sessions[I] = opened.provider;
        opened
    }

    pub(super) fn tell(&mut self, user: usize, primitive: impl Into<Primitive>) {
        let what = Special::new(primitive.into());
        let session = self.sessions[user];
        self.say(user, Request::Special { session, what });
    }

    /// Sends an FPDU that says nothing, and lets it arrive.
    pub(super) fn plain(&mut self, user: usize, kind: Kind) {
        self.tell(user, plain(kind));
        self.exchange();
    }

    pub(super) fn group<const N: usize>(&mut self, user: usize, members: [Fpdu; N]) -> Vec<Vec<u8>> {
        let threshold = i64::try_from(N).unwrap();
        self.tell(user, Fpdu::BeginGroupRequest(BeginGroupRequest { threshold }));
        for member in members {
            self.tell(user, member);
        }
        self.tell(user, Fpdu::EndGroupRequest);
        self.exchange()
    }

    pub(super) fn answer_group<const N: usize>(&mut self, user: usize, members: [Fpdu; N]) -> Vec<Vec<u8>> {
        self.tell(user, Fpdu::BeginGroupResponse);
        for member in members {
            self.tell(user, member);
        }
        self.tell(user, Fpdu::EndGroupResponse);
        self.exchange()
    }

    /// Sends one data element, if there is credit for it.
    pub(super) fn send(&mut self, user: usize, data: Message) -> bool {
        self.take_credit(user);
        if self.credit[user] == 0 {
            return false;
        }
        self.credit[user] -= 1;
        let (session, end) = (self.sessions[user], true);
        self.say(user, Request::Data { session, data, end });
        true
    }

    pub(super) fn string(&mut self, user: usize, text: &str) {
        let sent = self.send(user, Message::from_page(Page::from(text.as_bytes())));
        assert!(sent, "no credit");
        self.exchange();
    }

    /// Credit that has come; nothing else may have.
    pub(super) fn take_credit(&mut self, user: usize) {
        for heard in self.bench.heard(self.users[user]) {
            let Indication::Credit { credit, .. } = heard else {
                panic!("{heard:?}");
            };
            self.credit[user] += credit.messages;
        }
    }

    pub(super) fn grant(&mut self, user: usize, messages: u32) {
        let session = self.sessions[user];
        let credit = kumiki_graph::Credit::messages(messages);
        self.say(user, Request::Credit { session, credit });
    }

    /// What a user heard, in words, but credit; data is taken, and room given for more.
    pub(super) fn heard(&mut self, user: usize) -> Vec<String> {
        let mut words = Vec::new();
        let mut taken = 0;
        for heard in self.bench.heard(self.users[user]) {
            match heard {
                Indication::Credit { credit, .. } => self.credit[user] += credit.messages,
                Indication::Data { data, end, .. } => {
                    assert!(end);
                    taken += 1;
                    words.push(format!("{} octets", data.len()));
                    self.content[user].append(data);
                }
                Indication::Special { what, .. } => {
                    match *what.take::<Primitive>().expect("a primitive of the file service") {
                        Primitive::Pdu(fpdu) => words.push(fpdu.kind().to_string()),
                        Primitive::Data(element) => {
                            taken += 1;
                            words.push(match element {
                                DataElement::Octets(_) => "octets".to_owned(),
                                DataElement::Text { class, .. } => class.to_string(),
                                DataElement::Structuring(it) => format!("{it:?}"),
                                DataElement::Entry(_) => "entry".to_owned(),
                            });
                        }
                        Primitive::Check { identifier } => {
                            words.push(format!("check {identifier}"));
                        }
                        Primitive::CheckReply { identifier } => {
                            words.push(format!("secured {identifier}"));
                        }
                    }
                }
                Indication::Aborted { reason, .. } => words.push(format!("aborted: {reason}")),
                Indication::Closed { .. } => words.push("closed".to_owned()),
                other @ (Indication::Unit(_)
                | Indication::Opened(_)
                | Indication::Offered(_)
                | Indication::Expedited { .. }
                | Indication::Released { .. }
                | Indication::Reset { .. }
                | Indication::Notice { .. }
                | Indication::Report(_)) => panic!("{other:?}"),
            }
        }
        if taken > 0 {
            self.grant(user, taken);
            self.exchange();
        }
        words
    }

    pub(super) fn node(&self, user: usize) -> &Ftam {
        self.bench.graph.protocol::<Ftam>(self.nodes[user]).unwrap()
    }

    /// All octets that a node has copied, of those whose name begins so.
    pub(super) fn copied(&self, layers: &[&str]) -> u64 {
        let ours = |name: &str| layers.iter().any(|layer| name.starts_with(layer));
        let accounts = self.bench.graph.accounts();
        let ours = accounts.filter(|(name, _)| ours(name));
        ours.map(|(_, account)| account.copied).sum()
    }
}
