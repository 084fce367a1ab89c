//! The client: the state of RFC 2131 figure 5, and what it does in each. It knows no graph: what is to be done is
//! appended to a list of [`ClientAction`]s.

use core::net::Ipv4Addr;

use kumiki_graph::{Duration, Instant, Rng};
use kumiki_wire::inet::dhcp::{Header, Kind, Options, code};

use super::Config;
use super::lease::{Lease, is_usable};
use super::timers::{AFTER_DECLINE, LEAST_WAIT, MOST_TRIES, back_off};

/// Where the client is (RFC 2131 figure 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It is about to look for servers.
    Init,
    /// It has, and waits for an offer.
    Selecting,
    /// It has asked for what was offered.
    Requesting,
    /// It is about to ask for the address that it had before.
    InitReboot,
    /// It has.
    Rebooting,
    /// What it was granted is being looked at: whether somebody else has the address (section 4.4.1). In the figure
    /// this is on the way to BOUND.
    Checking,
    /// It has an address.
    Bound,
    /// It asks the server for more time.
    Renewing,
    /// It asks any server.
    Rebinding,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ClientAction {
    /// Send a message: to all, or to a server from our own address.
    Send(Box<Header>, Option<(Ipv4Addr, Ipv4Addr)>),
    /// Have the address, once nobody has claimed it.
    Check(Lease),
    /// Have what the lease says beside the address.
    Have(Lease),
    /// Have nothing of it any more.
    Give(Lease),
}

/// The client.
#[derive(Debug)]
pub(super) struct Client {
    config: Config,
    pub(super) state: State,
    xid: u32,
    /// When it began to look for an address, or for more time.
    began: Instant,
    /// When the request was sent that is to be answered: a lease counts from there.
    asked: Instant,
    /// What the last search for servers said of how long it has tried, which the request after it says again (section
    /// 3.1 (3)).
    secs: u16,
    /// How often the present message was sent.
    tries: u32,
    /// How often it was refused, or could not use what it was given, since it last had an address.
    refused: u32,
    /// What was offered: the server and the address.
    offer: Option<(Ipv4Addr, Ipv4Addr)>,
    /// What it has, or is about to have.
    pub(super) lease: Option<Lease>,
    /// When it does something next.
    due: Option<Instant>,
}

impl Client {
    pub(super) const fn new(config: Config) -> Self {
        Self {
            config,
            state: State::Init,
            xid: 0,
            began: Instant::ZERO,
            asked: Instant::ZERO,
            secs: 0,
            tries: 0,
            refused: 0,
            offer: None,
            lease: None,
            due: None,
        }
    }

    // What happens.

    /// The link is there.
    pub(super) fn on_up(&mut self, now: Instant, rng: &mut Rng) {
        self.began = now;
        let has_had = self.lease.is_some() || self.config.previous.is_some();
        self.state = if has_had { State::InitReboot } else { State::Init };
        // Section 4.4.1: so that not all begin at once.
        let (least, most) = self.config.startup;
        self.due = Some(now + least + rng_below(rng, most - least));
    }

    /// The link is gone: nothing is sent. What it had it has until its time is over; what is still looked at it has not
    /// got.
    pub(super) fn on_down(&mut self, acts: &mut Vec<ClientAction>) {
        if self.state == State::Checking
            && let Some(lease) = self.lease.take()
        {
            self.config.previous = Some(lease.address);
            acts.push(ClientAction::Give(lease));
        }
        (self.state, self.due) = (State::InitReboot, None);
    }

    /// Somebody has sent it a message.
    pub(super) fn on_message(
        &mut self,
        now: Instant,
        header: &Header,
        rng: &mut Rng,
        acts: &mut Vec<ClientAction>,
    ) -> bool {
        let options = &header.options;
        let is_its = header.is_reply
            && header.xid == self.xid
            && header.chaddr == self.config.station
            // Whose identifier is another's is another's (RFC 6842 section 3).
            && (options.client.is_empty() || options.client == self.config.identifier());
        if !is_its {
            return false;
        }
        match (self.state, options.kind) {
            (State::Selecting, Kind::Offer) => self.on_offer(now, header, rng, acts),
            (State::Requesting, Kind::Ack | Kind::Nak)
                if options.server.is_some() && options.server != self.offer.map(|it| it.0) =>
            {
                false
            }
            (State::Requesting | State::Rebooting | State::Renewing | State::Rebinding, Kind::Ack) => {
                self.on_ack(now, header, rng, acts)
            }
            (State::Requesting | State::Rebooting | State::Renewing | State::Rebinding, Kind::Nak) => {
                self.halt(acts);
                self.begin_again(now, Duration::ZERO, rng);
                true
            }
            (
                State::Init
                | State::InitReboot
                | State::Selecting
                | State::Requesting
                | State::Rebooting
                | State::Checking
                | State::Bound
                | State::Renewing
                | State::Rebinding,
                _,
            ) => false,
        }
    }

    /// The first offer that can be taken is taken: one that would be refused when it is granted is none.
    fn on_offer(&mut self, now: Instant, header: &Header, rng: &mut Rng, acts: &mut Vec<ClientAction>) -> bool {
        let Some(server) = header.options.server.filter(|it| is_host(*it) && is_usable(header)) else {
            return false;
        };
        self.offer = Some((server, header.yiaddr));
        self.state = State::Requesting;
        self.tries = 0;
        // With the `xid` of the offer (table 5).
        self.asked = now;
        self.send_request(now, acts);
        self.due = Some(now + back_off(self.tries, rng));
        true
    }

    fn on_ack(&mut self, now: Instant, header: &Header, rng: &mut Rng, acts: &mut Vec<ClientAction>) -> bool {
        let Some(lease) = Lease::of(header, self.asked, rng) else {
            return false;
        };
        let before = self.lease.as_ref().map(|it| it.address);
        let offered = self.offer.filter(|_| self.state == State::Requesting).map(|(_, address)| address);
        if before.or(offered).or(self.config.previous).is_some_and(|it| it != lease.address) {
            // A server that changes its mind in an answer that it should have refused (section 4.3.2).
            return false;
        }
        self.refused = if before.is_some() { 0 } else { self.refused };
        if before.is_some() {
            if let Some(old) = self.lease.replace(lease.clone()).filter(|old| !old.says_the_same(&lease)) {
                acts.push(ClientAction::Give(old.without_address()));
                acts.push(ClientAction::Have(lease));
            }
            self.bind(now);
        } else {
            self.state = State::Checking;
            self.due = None;
            self.lease = Some(lease.clone());
            acts.push(ClientAction::Check(lease));
        }
        true
    }

    /// Nobody claims the address.
    pub(super) fn on_free(&mut self, now: Instant, address: Ipv4Addr, acts: &mut Vec<ClientAction>) {
        let lease = self.lease.as_ref().filter(|it| self.state == State::Checking && it.address == address);
        if let Some(lease) = lease.cloned() {
            self.refused = 0;
            acts.push(ClientAction::Have(lease));
            self.bind(now);
        }
    }

    /// Somebody else has it: it is declined, and another one is looked for after a while (section 3.1 (5)).
    pub(super) fn on_taken(&mut self, now: Instant, address: Ipv4Addr, rng: &mut Rng, acts: &mut Vec<ClientAction>) {
        let is_it = self.state == State::Checking && self.lease.as_ref().is_some_and(|it| it.address == address);
        if let Some(lease) = self.lease.take_if(|_| is_it) {
            let options = Options {
                requested: Some(lease.address),
                server: lease.server,
                message: b"address in use".to_vec(),
                ..self.options(Kind::Decline)
            };
            self.xid = rng.next_u32();
            acts.push(ClientAction::Send(Box::new(self.header(options)), None));
            self.begin_again(now, AFTER_DECLINE, rng);
        }
    }

    /// It is to give its address back, and wants none any more (section 4.4.6).
    pub(super) fn on_release(&mut self, rng: &mut Rng, acts: &mut Vec<ClientAction>) {
        let has_it = matches!(self.state, State::Bound | State::Renewing | State::Rebinding);
        if let Some(lease) = self.lease.take() {
            if let Some(server) = lease.server.filter(|_| has_it) {
                let options = Options { server: Some(server), ..self.options(Kind::Release) };
                self.xid = rng.next_u32();
                let header = Header { ciaddr: lease.address, ..self.header(options) };
                acts.push(ClientAction::Send(Box::new(header), Some((lease.address, server))));
            }
            acts.push(ClientAction::Give(lease));
        }
        (self.state, self.due) = (State::Init, None);
    }

    // Time.

    /// When something happens by itself: what it has ends with its time, whatever it waits for.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let expires = self.lease.as_ref().and_then(|it| it.expires);
        self.due.into_iter().chain(expires).min()
    }

    /// What is due is done.
    pub(super) fn on_timer(&mut self, now: Instant, rng: &mut Rng, acts: &mut Vec<ClientAction>) {
        if self.next_due().is_none_or(|due| due > now) {
            return;
        }
        // Whatever it does, it does not use an address beyond its time (section 4.4.5).
        if self.lease.as_ref().and_then(|it| it.expires).is_some_and(|it| it <= now) {
            let is_too_short = self.state == State::Checking;
            self.halt(acts);
            self.began = now;
            self.state = State::Init;
            if is_too_short {
                // Leases that are over before they can be used are not asked for without end.
                return self.begin_again(now, Duration::ZERO, rng);
            }
        }
        match self.state {
            State::Init => {
                self.state = State::Selecting;
                self.tries = 0;
                self.send_discover(now, rng, acts);
            }
            State::Selecting => self.send_discover(now, rng, acts),
            State::InitReboot => {
                self.state = State::Rebooting;
                self.tries = 0;
                self.xid = rng.next_u32();
                self.asked = now;
                self.send_request(now, acts);
            }
            State::Requesting | State::Rebooting if self.tries < MOST_TRIES => self.send_request(now, acts),
            State::Requesting => self.begin_again(now, Duration::ZERO, rng),
            // Nobody contradicts that it has what it had (section 3.2 (3)).
            State::Rebooting if self.lease.is_some() => self.bind(now),
            State::Rebooting => {
                self.config.previous = None;
                self.begin_again(now, Duration::ZERO, rng);
            }
            State::Checking => {}
            State::Bound | State::Renewing | State::Rebinding => self.ask_for_more(now, rng, acts),
        }
        if matches!(self.state, State::Selecting | State::Requesting | State::Rebooting) {
            self.due = Some(now + back_off(self.tries, rng));
        }
    }

    fn bind(&mut self, now: Instant) {
        self.state = State::Bound;
        self.tries = 0;
        self.due = self.lease.as_ref().and_then(|it| it.t1).map(|it| it.max(now));
    }

    fn ask_for_more(&mut self, now: Instant, rng: &mut Rng, acts: &mut Vec<ClientAction>) {
        let Some(lease) = self.lease.clone() else {
            return;
        };
        let (Some(t2), Some(expires)) = (lease.t2, lease.expires) else {
            return;
        };
        if self.state == State::Bound {
            self.began = now;
        }
        // Each of these is an exchange of its own, so that the lease counts from the one that was answered.
        self.xid = rng.next_u32();
        self.asked = now;
        let server = lease.server.filter(|_| now < t2);
        let end = if server.is_some() { t2 } else { expires };
        self.state = if server.is_some() { State::Renewing } else { State::Rebinding };
        let header = Header {
            ciaddr: lease.address,
            secs: self.seconds(now),
            ..self.header(Options { ..self.options(Kind::Request) })
        };
        acts.push(ClientAction::Send(Box::new(header), server.map(|server| (lease.address, server))));
        // Section 4.4.5: half of what is left, a minute at least.
        let wait = (end.saturating_since(now) / 2).max(LEAST_WAIT);
        self.due = Some((now + wait).min(end));
    }

    /// It has nothing any more.
    fn halt(&mut self, acts: &mut Vec<ClientAction>) {
        if let Some(lease) = self.lease.take() {
            acts.push(ClientAction::Give(lease));
        }
        self.config.previous = None;
    }

    /// It looks for servers again; the more often it had to, the later.
    fn begin_again(&mut self, now: Instant, least: Duration, rng: &mut Rng) {
        let again = if self.refused == 0 { Duration::ZERO } else { back_off(self.refused, rng) };
        self.refused = self.refused.saturating_add(1);
        (self.state, self.offer, self.began) = (State::Init, None, now);
        self.due = Some(now + again.max(least));
    }

    // Messages.

    fn send_discover(&mut self, now: Instant, rng: &mut Rng, acts: &mut Vec<ClientAction>) {
        self.tries = self.tries.saturating_add(1);
        self.xid = rng.next_u32();
        self.secs = self.seconds(now);
        let options = Options { requested: self.config.previous, ..self.options(Kind::Discover) };
        let header = Header { broadcast: true, secs: self.secs, ..self.header(options) };
        acts.push(ClientAction::Send(Box::new(header), None));
    }

    /// Asks for what was offered, or what it had before (section 4.3.2, table 4).
    fn send_request(&mut self, now: Instant, acts: &mut Vec<ClientAction>) {
        self.tries = self.tries.saturating_add(1);
        let offer = self.offer.filter(|_| self.state == State::Requesting);
        let before = self.lease.as_ref().map(|it| it.address).or(self.config.previous);
        let options = Options {
            server: offer.map(|(server, _)| server),
            requested: offer.map(|(_, address)| address).or(before),
            ..self.options(Kind::Request)
        };
        let secs = if offer.is_some() { self.secs } else { self.seconds(now) };
        let header = Header { broadcast: true, secs, ..self.header(options) };
        acts.push(ClientAction::Send(Box::new(header), None));
    }

    fn seconds(&self, now: Instant) -> u16 {
        u16::try_from(now.saturating_since(self.began).as_millis() / 1000).unwrap_or(u16::MAX)
    }

    fn header(&self, options: Options) -> Header {
        Header { xid: self.xid, chaddr: self.config.station, options, ..Header::default() }
    }

    /// What a message of this kind says always (section 4.4.1, table 5).
    fn options(&self, kind: Kind) -> Options {
        let client = self.config.identifier();
        match kind {
            Kind::Discover | Kind::Request | Kind::Inform => Options {
                kind,
                client,
                longest: Some(self.config.longest),
                parameters: ASKED.to_vec(),
                lease_s: self.config.lease_s,
                ..Options::default()
            },
            Kind::Offer | Kind::Decline | Kind::Ack | Kind::Nak | Kind::Release => {
                Options { kind, client, ..Options::default() }
            }
        }
    }
}

/// What it asks for; routes before routers (RFC 3442, "DHCP Client Behavior").
const ASKED: [u8; 7] = [code::MASK, code::ROUTES, code::ROUTERS, code::RESOLVERS, code::MTU, code::T1, code::T2];

/// Whether it can be the address of one host.
pub(super) const fn is_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified() || address.is_multicast() || address.is_broadcast() || address.is_loopback())
}

fn rng_below(rng: &mut Rng, most: Duration) -> Duration {
    Duration::from_nanos(rng.below(most.as_nanos().max(1)))
}
