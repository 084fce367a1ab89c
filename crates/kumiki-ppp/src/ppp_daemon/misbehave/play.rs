//! Follows a script.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Instant;
use kumiki_wire::ppp::ppp::control::{self, Item, code, options};
use kumiki_wire::ppp::ppp::{Compression, Header, protocol};

use super::super::machine::{option, packet};
use super::{Choice, CraftedFrame, Rule, Script, StageStart};

/// Frames that wait to be sent at most; what is more goes at once.
const MOST_WAITING: usize = 4096;

/// What is to be done beside or in place of what the daemon does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Order {
    /// Send a frame.
    Put(Vec<u8>),
    /// Close the link.
    Terminate,
}

/// What becomes of a packet that came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum PacketFate {
    /// The daemon sees it as it is.
    Whole,
    /// It sees this instead.
    Changed(Vec<u8>),
    /// It does not see it.
    Nothing,
}

/// Something to be done at a time.
#[derive(Clone, Debug)]
enum Job {
    Put(Vec<u8>),
    /// A rule of the stage, by its number, which may come again.
    Rule(usize),
}

/// A Configure-Request that went out otherwise than the daemon wrote it.
#[derive(Clone, Debug)]
struct Altered {
    own: (u8, Vec<u8>),
    sent: (u8, Vec<u8>),
}

/// A script and how far it is.
#[derive(Debug)]
pub(in super::super) struct Player {
    script: Script,
    /// The stage whose rules hold.
    stage: usize,
    began: Instant,
    /// How often the rules of the stage may still be followed.
    left: Vec<Option<u32>>,
    jobs: BTreeMap<(Instant, u64), Job>,
    order: u64,
    altered: BTreeMap<u16, Altered>,
    /// The magic number in the peer's last Echo-Request.
    peers_magic: [u8; 4],
    identifier: u8,
}

/// Whether a protocol's first codes are those of configuration.
const fn has_options(number: u16) -> bool {
    matches!(number, protocol::LCP | protocol::IPCP | protocol::IPV6CP)
}

fn frame(protocol: u16, information: &[u8]) -> Vec<u8> {
    let header = Header::new(protocol, Compression::NONE);
    let mut frame = vec![0; header.len()];
    header.emit(&mut frame);
    frame.extend(information);
    frame
}

fn option_of(choice: &Choice) -> Vec<u8> {
    let item = Item { kind: choice.kind, data: &choice.value };
    option(item.len(), |out| item.emit(out))
}

impl Player {
    pub(in super::super) const fn new(script: Script) -> Self {
        Self {
            script,
            stage: 0,
            began: Instant::ZERO,
            left: Vec::new(),
            jobs: BTreeMap::new(),
            order: 0,
            altered: BTreeMap::new(),
            peers_magic: [0; 4],
            identifier: 0,
        }
    }

    /// When something is to be done by itself.
    pub(in super::super) fn next_deadline(&self) -> Option<Instant> {
        let job = self.jobs.keys().next().map(|(at, _)| *at);
        let stage = match self.following() {
            Some(StageStart::After(time)) => Some(self.began + time),
            Some(StageStart::Opened(_) | StageStart::Received(_) | StageStart::Sent(_)) | None => None,
        };
        job.into_iter().chain(stage).min()
    }

    fn following(&self) -> Option<StageStart> {
        let stage = self.script.stages.get(self.stage + 1)?;
        Some(stage.begins)
    }

    /// The link begins, for the first time or again: the script begins once.
    pub(in super::super) fn begin(&mut self, now: Instant) {
        if self.left.is_empty() && self.stage == 0 {
            self.enter(0, now);
        }
    }

    fn enter(&mut self, stage: usize, now: Instant) {
        self.stage = stage;
        self.began = now;
        // What was late is still sent; what was to be repeated is not.
        self.jobs.retain(|_, job| matches!(job, Job::Put(_)));
        let rules = self.script.stages.get(stage).map(|stage| &stage.rules[..]);
        let rules = rules.unwrap_or_default();
        self.left = rules.iter().map(|(_, times)| *times).collect();
        let timed: Vec<(usize, Instant)> = rules
            .iter()
            .enumerate()
            .filter_map(|(number, (rule, _))| {
                let (Rule::Send { after, .. } | Rule::Terminate(after)) = rule else {
                    return None;
                };
                Some((number, now + *after))
            })
            .collect();
        for (number, at) in timed {
            self.later(at, Job::Rule(number));
        }
    }

    fn later(&mut self, at: Instant, job: Job) {
        self.order += 1;
        self.jobs.insert((at, self.order), job);
    }

    /// A control protocol is Opened.
    pub(in super::super) fn opened(&mut self, protocol: u16, now: Instant) {
        if self.following() == Some(StageStart::Opened(protocol)) {
            self.enter(self.stage + 1, now);
        }
    }

    /// What is due. `magic`: our magic number.
    pub(in super::super) fn expire(&mut self, magic: u32, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        while let Some(entry) = self.jobs.first_entry() {
            if entry.key().0 > now {
                break;
            }
            match entry.remove() {
                Job::Put(frame) => orders.push(Order::Put(frame)),
                Job::Rule(number) => self.follow(number, magic, now, &mut orders),
            }
        }
        if let Some(StageStart::After(time)) = self.following()
            && self.began + time <= now
        {
            self.enter(self.stage + 1, now);
        }
        orders
    }

    fn follow(&mut self, number: usize, magic: u32, now: Instant, orders: &mut Vec<Order>) {
        let Some(rule) = self.rule(number).cloned() else {
            return;
        };
        if let Rule::Terminate(_) = rule {
            orders.push(Order::Terminate);
        }
        let Rule::Send { made, every, burst, .. } = rule else {
            return;
        };
        if !self.spend(number) {
            return;
        }
        for _ in 0..burst {
            let frame = self.made(&made, magic);
            orders.push(Order::Put(frame));
        }
        let left = self.left.get(number).copied().flatten();
        match every {
            Some(every) if left != Some(0) => self.later(now + every, Job::Rule(number)),
            // So many times, one behind the other.
            None if left.is_some_and(|left| left > 0) => self.later(now, Job::Rule(number)),
            Some(_) | None => {}
        }
    }

    fn rule(&self, number: usize) -> Option<&Rule> {
        let (rule, _) = self.script.stages.get(self.stage)?.rules.get(number)?;
        Some(rule)
    }

    /// Whether a rule may be followed once more; then it is.
    fn spend(&mut self, number: usize) -> bool {
        match self.left.get_mut(number) {
            Some(Some(0)) | None => false,
            Some(Some(left)) => {
                *left -= 1;
                true
            }
            Some(None) => true,
        }
    }

    fn made(&mut self, made: &CraftedFrame, magic: u32) -> Vec<u8> {
        match made {
            CraftedFrame::Raw(frame) => frame.clone(),
            CraftedFrame::Packet { protocol, code, data, magic: has_magic } => {
                self.identifier = self.identifier.wrapping_add(1);
                let mut all = Vec::new();
                if *has_magic {
                    all.extend(magic.to_be_bytes());
                }
                all.extend(data);
                frame(*protocol, &packet(*code, self.identifier, &all))
            }
        }
    }

    /// The rules of the stage that may still be followed.
    fn rules(&self) -> Vec<(usize, Rule)> {
        let Some(stage) = self.script.stages.get(self.stage) else {
            return Vec::new();
        };
        let rules = stage.rules.iter().enumerate();
        rules
            .filter(|(number, _)| self.left.get(*number).is_some_and(|left| *left != Some(0)))
            .map(|(number, (rule, _))| (number, rule.clone()))
            .collect()
    }

    /// A packet came.
    pub(in super::super) fn incoming(
        &mut self,
        number: u16,
        information: &[u8],
        now: Instant,
    ) -> (PacketFate, Vec<Order>) {
        let mut orders = Vec::new();
        let mut seen = PacketFate::Whole;
        if number == protocol::LCP
            && let [code::ECHO_REQUEST, _, _, _, a, b, c, d, ..] = *information
        {
            self.peers_magic = [a, b, c, d];
        }
        for (rule_number, rule) in self.rules() {
            if rule == Rule::LoopBack {
                orders.push(Order::Put(frame(number, information)));
                seen = PacketFate::Nothing;
            } else if let Rule::Ignore(what) = rule
                && what.is(number, information)
            {
                self.spend(rule_number);
                seen = PacketFate::Nothing;
            }
        }
        if seen == PacketFate::Whole
            && let Some(answer) = self.refused(number, information)
        {
            orders.push(Order::Put(answer));
            seen = PacketFate::Nothing;
        }
        if seen == PacketFate::Whole {
            seen = self.translated(number, information, &mut orders);
        }
        if let Some(StageStart::Received(what)) = self.following()
            && what.is(number, information)
        {
            self.enter(self.stage + 1, now);
        }
        (seen, orders)
    }

    /// The script's own answer to a Configure-Request.
    fn refused(&mut self, number: u16, information: &[u8]) -> Option<Vec<u8>> {
        let (request, _) = control::Packet::parse(information).ok()?;
        if request.code != code::CONFIGURE_REQUEST || !has_options(number) {
            return None;
        }
        let (mut naks, mut rejects) = (Vec::new(), Vec::new());
        for (rule_number, rule) in self.rules() {
            if let Rule::Nak(choice) = &rule
                && choice.protocol == number
            {
                self.spend(rule_number);
                naks.extend(option_of(choice));
            } else if let Rule::Reject(choice) = &rule
                && choice.protocol == number
            {
                let mut own = options(request.data).flatten();
                if let Some(item) = own.find(|item| item.kind == choice.kind) {
                    self.spend(rule_number);
                    rejects.extend(option(item.len(), |out| item.emit(out)));
                }
            }
        }
        let (code, data) = match (rejects.is_empty(), naks.is_empty()) {
            (false, _) => (code::CONFIGURE_REJECT, rejects),
            (true, false) => (code::CONFIGURE_NAK, naks),
            (true, true) => return None,
        };
        Some(frame(number, &packet(code, request.identifier, &data)))
    }

    /// An answer to a Configure-Request that the daemon wrote otherwise: what it would have been to that.
    fn translated(&mut self, number: u16, information: &[u8], orders: &mut Vec<Order>) -> PacketFate {
        let Ok((answer, _)) = control::Packet::parse(information) else {
            return PacketFate::Whole;
        };
        let Some(altered) = self.altered.get(&number) else {
            return PacketFate::Whole;
        };
        if answer.identifier != altered.sent.0 {
            return PacketFate::Whole;
        }
        match answer.code {
            code::CONFIGURE_ACK if answer.data == altered.sent.1 => {
                PacketFate::Changed(packet(answer.code, altered.own.0, &altered.own.1))
            }
            code::CONFIGURE_NAK | code::CONFIGURE_REJECT => {
                let kinds = |data| -> BTreeSet<u8> { options(data).flatten().map(|item| item.kind).collect() };
                let own = kinds(&altered.own.1);
                let is_own = |item: &Item<'_>| own.contains(&item.kind);
                let data: Vec<u8> = options(answer.data)
                    .flatten()
                    .filter(is_own)
                    .flat_map(|item| option(item.len(), |out| item.emit(out)))
                    .collect();
                if !data.is_empty() {
                    return PacketFate::Changed(packet(answer.code, altered.own.0, &data));
                }
                // Only what the script has put in was refused: without it the request goes once more, unless it is
                // insisted on.
                let refused = kinds(answer.data);
                if self.insists(number, &refused) {
                    return PacketFate::Nothing;
                }
                let mut sent = altered.clone();
                let left: Vec<u8> = options(&altered.sent.1)
                    .flatten()
                    .filter(|item| !refused.contains(&item.kind))
                    .flat_map(|item| option(item.len(), |out| item.emit(out)))
                    .collect();
                sent.sent = (altered.sent.0.wrapping_add(128), left);
                let again = packet(code::CONFIGURE_REQUEST, sent.sent.0, &sent.sent.1);
                self.altered.insert(number, sent);
                self.drop_sets(number, &refused);
                orders.push(Order::Put(frame(number, &again)));
                PacketFate::Nothing
            }
            _ => PacketFate::Whole,
        }
    }

    /// Whether one of these options is kept for ever.
    fn insists(&self, number: u16, kinds: &BTreeSet<u8>) -> bool {
        self.rules().iter().any(|(rule_number, rule)| {
            let is_kept = self.left.get(*rule_number) == Some(&None);
            matches!(rule, Rule::Set(choice) if is_kept && choice.protocol == number && kinds.contains(&choice.kind))
        })
    }

    fn drop_sets(&mut self, number: u16, refused: &BTreeSet<u8>) {
        for (rule_number, rule) in self.rules() {
            if let Rule::Set(choice) = rule
                && choice.protocol == number
                && refused.contains(&choice.kind)
                && let Some(left) = self.left.get_mut(rule_number)
            {
                *left = Some(0);
            }
        }
    }

    /// The daemon sends a packet; these go in its place.
    pub(in super::super) fn outgoing(&mut self, number: u16, information: &[u8], now: Instant) -> Vec<Order> {
        let mut octets = self.altered(number, information);
        let (mut is_sent, mut copies, mut late) = (true, 1, None);
        for (rule_number, rule) in self.rules() {
            let is_of = rule.is_of(number, information);
            match rule {
                // What a loop sends is what came, and nothing else.
                Rule::LoopBack => is_sent = false,
                Rule::EchoPeersMagic if number == protocol::LCP => {
                    if let [code::ECHO_REPLY, _, _, _, a, b, c, d, ..] = &mut octets[..] {
                        [*a, *b, *c, *d] = self.peers_magic;
                    }
                }
                _ if !is_of => {}
                Rule::Drop(_) => is_sent = !self.spend(rule_number) && is_sent,
                Rule::Late(_, time) => late = Some(time).filter(|_| self.spend(rule_number)),
                Rule::Double(_) => copies += usize::from(self.spend(rule_number)),
                Rule::BadId(_) => {
                    self.spend(rule_number);
                    if let Some(identifier) = octets.get_mut(1) {
                        *identifier = identifier.wrapping_add(1);
                    }
                }
                Rule::BadLength(_, by) => {
                    self.spend(rule_number);
                    if let [_, _, high, low, ..] = &mut octets[..] {
                        let length = i32::from(u16::from_be_bytes([*high, *low]));
                        let length = length.saturating_add(by).clamp(0, 0xffff);
                        [*high, *low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
                    }
                }
                Rule::Cut(_, to) => {
                    self.spend(rule_number);
                    octets.truncate(to);
                }
                Rule::EchoPeersMagic
                | Rule::Ignore(_)
                | Rule::Nak(_)
                | Rule::Reject(_)
                | Rule::Set(_)
                | Rule::Without(_)
                | Rule::Send { .. }
                | Rule::Terminate(_) => {}
            }
        }
        if let Some(StageStart::Sent(what)) = self.following()
            && what.is(number, information)
        {
            self.enter(self.stage + 1, now);
        }
        if !is_sent {
            return Vec::new();
        }
        let frame = frame(number, &octets);
        match late.filter(|_| self.jobs.len() < MOST_WAITING) {
            Some(time) => {
                for _ in 0..copies {
                    self.later(now + time, Job::Put(frame.clone()));
                }
                Vec::new()
            }
            None => vec![Order::Put(frame); copies],
        }
    }

    /// A Configure-Request with the options that the script wants in it.
    fn altered(&mut self, number: u16, information: &[u8]) -> Vec<u8> {
        let whole = || information.to_vec();
        let Ok((request, _)) = control::Packet::parse(information) else {
            return whole();
        };
        if request.code != code::CONFIGURE_REQUEST || !has_options(number) {
            return whole();
        }
        let mut items: Vec<(u8, Vec<u8>)> =
            options(request.data).flatten().map(|item| (item.kind, option(item.len(), |out| item.emit(out)))).collect();
        for (_, rule) in self.rules() {
            if let Rule::Set(choice) = &rule
                && choice.protocol == number
            {
                let octets = option_of(choice);
                match items.iter_mut().find(|(kind, _)| *kind == choice.kind) {
                    Some((_, own)) => *own = octets,
                    None => items.push((choice.kind, octets)),
                }
            } else if let Rule::Without(choice) = &rule
                && choice.protocol == number
            {
                items.retain(|(kind, _)| *kind != choice.kind);
            }
        }
        let data: Vec<u8> = items.into_iter().flat_map(|(_, octets)| octets).collect();
        let own = (request.identifier, request.data.to_vec());
        let sent = (request.identifier, data);
        let octets = packet(code::CONFIGURE_REQUEST, sent.0, &sent.1);
        self.altered.remove(&number);
        if own.1 != sent.1 {
            self.altered.insert(number, Altered { own, sent });
        }
        octets
    }
}
