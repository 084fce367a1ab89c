//! Programs that move a file: the users of the file service at both ends.
//!
//! | | |
//! |---|---|
//! | Specification | the FTAM user program of paper 4: a file on a RAM disk, FTAM-3, so many octets in each F-DATA request |
//! | Above | nothing |
//! | Below | the file service, or a board's interface to it |
//! | Left out | other operations than putting or getting one file: `kumiki ftam` has them; going on with a transfer after a break |
//!
//! Both are those of [`kumiki_files`], which real files are moved with. Here the content is generated, what arrives is
//! looked at, and time is taken. The one who begins puts a file at the other, or gets one that the other has.

use kumiki_files::file_user::{self, Failure, FileClient, Layer, Operation, PutMode, Settings};
use kumiki_files::filestore::{self, FileServer, Guard, Memory, Name, ResponderConfig};
use kumiki_graph::{
    Above, Address, Below, Context, Indication, Instant, Protocol, Reason, Request, Shape, TimerSlot, Token, Work,
};
use kumiki_octets::{Message, Pattern};
use kumiki_osi_service::ftam::CalendarTime;
use kumiki_osi_service::ftam::attributes::Pathname;
use kumiki_osi_service::ftam::contents::ContentsType;
use kumiki_osi_service::ftam::time::Zone;

use super::sink::{Received, first_wrong};
use super::{Bell, Opening, Transfer, TransferEvent};

/// What the file is called.
const NAME: &str = "FILE";

/// When what is got was made: any date, the same in each run.
const CREATED: CalendarTime =
    CalendarTime { year: 1995, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanosecond: 0, zone: Zone::Offset(0) };

/// The timer that begins; those of the client are its own.
const BEGIN: Token = Token { session: kumiki_graph::Handle { index: u32::MAX, generation: u32::MAX }, kind: u32::MAX };

/// Which way the file goes, as its initiator sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileDirection {
    /// From the initiator to the responder, by F-WRITE.
    Put,
    /// From the responder to the initiator, by F-READ.
    Get,
}

/// The file that is moved.
#[derive(Clone, Copy, Debug)]
pub struct FileConfig {
    /// Which way it goes.
    pub way: FileDirection,
    /// Its octets.
    pub len: u64,
    /// Octets in an F-DATA request.
    pub element: u32,
    /// The content.
    pub pattern: Pattern,
}

/// What a [`FileUser`] does.
#[derive(Clone, Debug)]
pub struct FileUserConfig {
    /// The responder's address.
    pub remote: Address,
    /// The file.
    pub file: FileConfig,
    /// When it begins.
    pub opening: Opening,
    /// How data gets into the memory of the stack, or out of it.
    pub transfer: Transfer,
}

/// A file whose octets are a function of their position.
struct Generated {
    pattern: Pattern,
    len: u64,
}

impl file_user::Source for Generated {
    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        let left = self.len.saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        Ok(Message::generated(self.pattern, offset, len))
    }
}

/// What is got goes nowhere: the program looks at it as it comes.
struct Discarded;

impl file_user::Sink for Discarded {
    fn write(&mut self, _: u64, _: Message) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// The program that a file comes to: each F-DATA indication is a call of it.
#[derive(Debug)]
struct Reader {
    expect: Pattern,
    transfer: Transfer,
    received: Received,
}

impl Reader {
    fn new(expect: Pattern, transfer: Transfer) -> Self {
        Self { expect, transfer, received: Received::default() }
    }

    /// Looks at what comes up from the file service.
    fn pop(&mut self, indication: &Indication, cx: &mut Context<'_>) {
        if let Indication::Data { data, .. } = indication {
            self.look(data, cx);
        } else if let Indication::Closed { .. } = indication {
            self.received.ended = Some(cx.now());
        } else if let Indication::Aborted { reason, .. } = indication {
            self.received.aborted = Some(reason.clone());
        }
    }

    fn look(&mut self, data: &Message, cx: &mut Context<'_>) {
        let octets = data.len() as u64;
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, octets * self.transfer.copies);
        let now = cx.now();
        let received = &mut self.received;
        if received.wrong_at.is_none() {
            received.wrong_at = first_wrong(self.expect, received.octets, data);
        }
        received.gaps.arrived(received.last, now);
        received.octets += octets;
        received.first = received.first.or(Some(now));
        received.last = Some(now);
    }
}

/// The initiator: puts or gets one file.
#[derive(Debug)]
pub struct FileUser {
    config: FileUserConfig,
    client: FileClient,
    reader: Reader,
    timer: TimerSlot,
    begun: Option<Instant>,
    opened: Option<Instant>,
    over: Option<Instant>,
    aborted: Option<Reason>,
    /// Who is told when the association stands, and when it is over.
    bell: Option<Bell>,
}

impl FileUser {
    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: FileUserConfig) -> Self {
        let (file, name) = (config.file, NAME.to_owned());
        let operation = match file.way {
            FileDirection::Put => Operation::Put {
                name,
                contents_type: ContentsType::binary(),
                mode: PutMode::New,
                source: Box::new(Generated { pattern: file.pattern, len: file.len }),
            },
            FileDirection::Get => {
                Operation::Get { name, contents_type: None, restart_at: 0, sink: Box::new(Discarded) }
            }
        };
        let client = file_user::Config {
            remote: config.remote,
            settings: Settings {
                element: usize::try_from(file.element).unwrap_or(usize::MAX),
                recoveries: 0,
                ..Settings::default()
            },
            ..file_user::Config::default()
        };
        Self {
            reader: Reader::new(file.pattern, config.transfer),
            config,
            client: FileClient::new(client, vec![operation]),
            timer: TimerSlot::default(),
            begun: None,
            opened: None,
            over: None,
            aborted: None,
            bell: None,
        }
    }

    /// One that rings `bell` when the association stands, and when the file is there, or will not be.
    #[must_use]
    pub fn ringing(self, bell: Option<Bell>) -> Self {
        Self { bell, ..self }
    }

    fn ring(&self, happened: TransferEvent) {
        self.bell.iter().for_each(|bell| bell.ring(happened));
    }

    /// Takes note of its being over.
    fn note(&mut self, now: Instant) {
        let plan = self.client.plan();
        if self.over.is_none() && (plan.progress().over > 0 || plan.failure().is_some()) {
            self.over = Some(now);
            self.ring(TransferEvent::Over { caller: Address::NONE });
        }
    }

    /// What came, where the file is got; none where it is put.
    #[must_use]
    pub fn received(&self) -> Option<Received> {
        (self.config.file.way == FileDirection::Get).then_some(self.reader.received.clone())
    }

    /// The responder's address.
    #[must_use]
    pub const fn remote(&self) -> Address {
        self.config.remote
    }

    /// When the association was asked for.
    #[must_use]
    pub const fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// When the association stood.
    #[must_use]
    pub const fn opened(&self) -> Option<Instant> {
        self.opened
    }

    /// When it was over: the file was there, closed and deselected, or the transfer had failed.
    #[must_use]
    pub const fn over(&self) -> Option<Instant> {
        self.over
    }

    /// Why the association ended before the transfer was over, where it did.
    #[must_use]
    pub const fn aborted(&self) -> Option<&Reason> {
        self.aborted.as_ref()
    }

    /// Whether the association is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.client.is_over()
    }

    /// Octets of the file.
    #[must_use]
    pub const fn file(&self) -> u64 {
        self.config.file.len
    }

    /// What went wrong.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let client = self.client.plan();
        let operations = client.outcomes().iter();
        let failed = operations.filter_map(|outcome| outcome.result.as_ref().err());
        failed.chain(client.failure()).next().map(|failure| match failure.layer {
            // What may help in a real network is none of what a scenario has.
            Layer::Network => {
                let remedy = "see what its lines lose, and when lines and hosts are up".to_owned();
                Failure { remedy, ..failure.clone() }
            }
            Layer::Local
            | Layer::Transport
            | Layer::Session
            | Layer::Presentation
            | Layer::Acse
            | Layer::Ftam
            | Layer::Mms => failure.clone(),
        })
    }
}

impl Protocol for FileUser {
    fn shape(&self) -> Shape {
        self.client.shape()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let at = self.config.opening.first(cx);
        cx.set_timer(&mut self.timer, BEGIN, at);
    }

    fn push(&mut self, above: Above, request: Request, cx: &mut Context<'_>) {
        self.client.push(above, request, cx);
    }

    fn pop(&mut self, below: Below, indication: Indication, cx: &mut Context<'_>) {
        if matches!(indication, Indication::Opened(_)) && self.opened.is_none() {
            let at = cx.now();
            self.opened = Some(at);
            self.ring(TransferEvent::Opened { at, local: Address::NONE, remote: Address::NONE });
        }
        if let Indication::Aborted { reason, .. } = &indication
            && self.over.is_none()
        {
            self.aborted.get_or_insert_with(|| reason.clone());
        }
        let before = self.client.plan().progress();
        if self.config.file.way == FileDirection::Get {
            self.reader.pop(&indication, cx);
        }
        self.client.pop(below, indication, cx);
        let after = self.client.plan().progress();
        if self.config.file.way == FileDirection::Put {
            // Each F-DATA request is a call of the program, which reads its RAM disk.
            let octets = after.octets.saturating_sub(before.octets);
            cx.charge(Work::Call, after.elements.saturating_sub(before.elements));
            cx.charge(Work::Copy, octets * self.config.transfer.copies);
        }
        self.note(cx.now());
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == BEGIN {
            self.begun = Some(cx.now());
            self.client.start(cx);
        } else {
            let had_failed = self.client.plan().failure().is_some();
            self.client.expire(token, cx);
            // It has waited for long enough, and gives the association up before TCP does.
            if !had_failed && self.client.plan().failure().is_some() {
                self.aborted.get_or_insert(Reason::TimedOut);
            }
        }
        self.note(cx.now());
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        self.client.settle(cx);
        self.note(cx.now());
    }
}

/// What a [`FileKeeper`] does.
#[derive(Clone, Copy, Debug)]
pub struct FileKeeperConfig {
    /// The file that comes, or that it has.
    pub file: FileConfig,
    /// How data gets out of the memory of the stack, or into it.
    pub transfer: Transfer,
}

/// The responder: takes a file into memory, or has one there.
#[derive(Debug)]
pub struct FileKeeper {
    config: FileKeeperConfig,
    server: FileServer,
    reader: Reader,
    aborted: Option<(Instant, Reason)>,
    fell_silent: Option<Instant>,
}

impl FileKeeper {
    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: FileKeeperConfig) -> Self {
        let file = config.file;
        let mut store = Memory::new();
        if let (FileDirection::Get, Ok(name)) = (file.way, Name::parse(&Pathname::from(NAME))) {
            let len = usize::try_from(file.len).unwrap_or(usize::MAX);
            let contents = Message::generated(file.pattern, 0, len);
            store.put(&name, ContentsType::binary(), contents, CREATED);
        }
        let responder = ResponderConfig {
            element: usize::try_from(file.element).unwrap_or(usize::MAX),
            ..ResponderConfig::default()
        };
        let server = filestore::Config { responder, ..filestore::Config::default() };
        Self {
            config,
            server: FileServer::new(server, Guard::new(Box::new(store))),
            reader: Reader::new(file.pattern, config.transfer),
            aborted: None,
            fell_silent: None,
        }
    }

    /// When the association was aborted that had not ended in order, and why.
    #[must_use]
    pub const fn aborted(&self) -> Option<&(Instant, Reason)> {
        self.aborted.as_ref()
    }

    /// When it had ended an association because nothing came for too long, of which who asks may not have heard.
    #[must_use]
    pub const fn fell_silent(&self) -> Option<Instant> {
        self.fell_silent
    }

    /// What came, where the file is put; none where it is got.
    #[must_use]
    pub fn received(&self) -> Option<Received> {
        (self.config.file.way == FileDirection::Put).then_some(self.reader.received.clone())
    }
}

impl Protocol for FileKeeper {
    fn shape(&self) -> Shape {
        self.server.shape()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.server.start(cx);
    }

    fn push(&mut self, above: Above, request: Request, cx: &mut Context<'_>) {
        self.server.push(above, request, cx);
    }

    fn pop(&mut self, below: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Aborted { reason, .. } = &indication {
            self.aborted.get_or_insert_with(|| (cx.now(), reason.clone()));
        }
        if self.config.file.way == FileDirection::Put {
            self.reader.pop(&indication, cx);
        }
        let before = *self.server.door().counters();
        self.server.pop(below, indication, cx);
        let after = self.server.door().counters();
        // Each F-DATA request is a call of the program, which reads its RAM disk.
        let octets = after.octets_sent.saturating_sub(before.octets_sent);
        let elements = after.elements_sent.saturating_sub(before.elements_sent);
        cx.charge(Work::Call, elements);
        cx.charge(Work::Copy, octets * self.config.transfer.copies);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let before = self.server.door().counters().idle;
        self.server.expire(token, cx);
        if self.server.door().counters().idle > before {
            self.fell_silent.get_or_insert_with(|| cx.now());
        }
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        self.server.settle(cx);
    }
}
