//! Segments in and out: header and checksum against octets.

use core::net::{IpAddr, SocketAddr};
use kumiki_wire::inet::{IpParameters, SourceRoute};

use kumiki_graph::{AccessPoint, Below, Context, Parameters, Request, Unit, UnitOptions, Work};
use kumiki_octets::{Checksum, Message, Meta, Sum};
use kumiki_wire::inet::ipv4::{Ecn as Codepoint, protocol};
use kumiki_wire::inet::tcp::{CHECKSUM_OFFSET, Flags, Header, MIN_LEN, Options, PlainHeader, Seq};

use super::demux::Pair;
use super::ecn::receiver::Arrived;

/// A segment that has arrived intact.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) seq: Seq,
    pub(crate) ack: Seq,
    pub(crate) flags: Flags,
    /// SEG.WND as on the wire.
    pub(crate) window: u16,
    /// The urgent pointer, significant with URG.
    pub(crate) urgent: u16,
    pub(crate) options: Options,
    /// What IP's header says of congestion on the way.
    pub(crate) ecn: Codepoint,
    /// The way back to who sent it.
    pub(crate) route: Option<Box<SourceRoute>>,
    pub(crate) text: Message,
    /// Octets of text of each segment that the device put together into this one, but for the last, which may be
    /// shorter; 0 where it is one segment.
    size: u16,
}

impl Segment {
    pub(crate) const fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// Octets of text.
    pub(crate) fn octets(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// What IP's header says of all of it.
    pub(crate) fn arrived(&self) -> Arrived {
        Arrived { codepoint: self.ecn, count: self.count(), octets: self.octets() }
    }

    /// How many segments the peer sent of it.
    pub(crate) fn count(&self) -> u32 {
        segments(self.octets(), self.size)
    }

    /// SEG.LEN: SYN and FIN count.
    pub(crate) fn len(&self) -> u32 {
        self.octets() + u32::from(self.flags.contains(Flags::SYN)) + u32::from(self.flags.contains(Flags::FIN))
    }
}

/// The pseudo header's sum (RFC 9293 section 3.1, RFC 8200 section 8.1). What the versions' headers have more than each
/// other is zero.
fn pseudo(source: IpAddr, destination: IpAddr, len: usize) -> Sum {
    let of = |address| match address {
        IpAddr::V4(address) => Sum::ZERO.add_u32(address.to_bits()),
        IpAddr::V6(address) => Sum::of(&address.octets()),
    };
    of(source).plus(of(destination)).add_u16(protocol::TCP.into()).add_u32(u32::try_from(len).unwrap_or(u32::MAX))
}

/// What IP indicated: a segment that has arrived intact, its header in front.
#[derive(Debug)]
pub(crate) struct Packet {
    source: IpAddr,
    destination: IpAddr,
    ecn: Codepoint,
    route: Option<Box<SourceRoute>>,
    /// Header and text, until they are taken.
    data: Option<Message>,
    /// See [`Segment`].
    size: u16,
}

/// Takes what IP indicated and verifies its checksum (MUST-3); `Err` says why it was dropped.
pub(crate) fn receive(unit: Box<Unit>, cx: &mut Context<'_>) -> Result<Packet, &'static str> {
    let (Some(source), Some(destination)) = (unit.source.ip(), unit.destination.ip()) else {
        return Err("not from IP");
    };
    if unit.options.group || !may_speak(destination) || !may_speak(source) {
        // MUST-57, MUST-63.
        return Err("address that no connection can have");
    }
    let ecn = Codepoint::from_bits(IpParameters::from(unit.options.special).tos);
    let (mut parameters, mut data) = (unit.parameters, unit.data);
    let route = parameters.take();
    if !is_intact(&mut data, source, destination, cx) {
        return Err("bad checksum");
    }
    let size = core::mem::take(data.meta_mut()).segment_size;
    Ok(Packet { source, destination, ecn, route, data: Some(data), size })
}

impl Packet {
    /// The octets of the header, as many as it says; only these are asked for, since asking for text as well could move
    /// it.
    fn front(&mut self) -> Option<&[u8]> {
        let data = self.data.as_mut()?;
        let words = match data.front(MIN_LEN) {
            Ok(&[.., offset, _, _, _, _, _, _, _]) => usize::from(offset >> 4),
            _ => return None,
        };
        data.front((4 * words).max(MIN_LEN)).ok()
    }

    /// Its header, where that is a plain one and it came by no source route.
    pub(crate) fn plain(&mut self) -> Option<PlainHeader> {
        if self.route.is_some() {
            return None;
        }
        PlainHeader::parse(self.front()?)
    }

    /// Between whom, where the ports are these: our own, and that of the peer.
    pub(crate) fn pair(&self, local: u16, remote: u16) -> Pair {
        Pair::new(SocketAddr::new(self.destination, local), SocketAddr::new(self.source, remote))
    }

    /// Octets of text behind a header of `len` octets.
    pub(crate) fn octets(&self, len: usize) -> u32 {
        let all = self.data.as_ref().map_or(0, Message::len);
        u32::try_from(all.saturating_sub(len)).unwrap_or(u32::MAX)
    }

    /// Takes the text behind a header of `len` octets out; also how many segments the peer sent of it.
    pub(crate) fn take_text(&mut self, len: usize) -> Option<(Message, u32)> {
        let count = segments(self.octets(len), self.size);
        let mut data = self.data.take()?;
        // The header was read, so it is there.
        let _ = data.pop(len);
        Some((data, count))
    }

    /// All of it as it was read; `Err` says why it was dropped.
    pub(crate) fn into_segment(mut self) -> Result<(Pair, Segment), &'static str> {
        let total = self.data.as_ref().map_or(0, Message::len);
        let front = self.front().ok_or("malformed")?;
        let (header, len) = Header::parse(front, total).map_err(|_| "malformed")?;
        let mut text = self.data.take().ok_or("malformed")?;
        text.pop(len).map_err(|_| "malformed")?;
        let pair = self.pair(header.destination_port, header.source_port);
        let segment = Segment {
            seq: header.seq,
            ack: header.ack,
            flags: header.flags,
            window: header.window,
            urgent: header.urgent_pointer,
            options: header.options,
            ecn: self.ecn,
            route: self.route,
            text,
            size: self.size,
        };
        Ok((pair, segment))
    }
}

/// How many segments the peer sent of `octets` that a device put together, each of `size` octets but the last; 0: it is
/// one.
fn segments(octets: u32, size: u16) -> u32 {
    match size {
        0 => 1,
        size => octets.div_ceil(size.into()).max(1),
    }
}

/// Whether a connection can have this end: no group, nobody, and none of the addresses that are kept for later (RFC
/// 1122 section 3.2.1.3, RFC 4291 section 2.5.2).
pub(crate) const fn may_speak(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, ..] = address.octets();
            first != 0 && first < 224
        }
        IpAddr::V6(address) => !address.is_unspecified() && !address.is_multicast(),
    }
}

fn is_intact(message: &mut Message, source: IpAddr, destination: IpAddr, cx: &mut Context<'_>) -> bool {
    let len = message.len();
    let sum = match message.meta().checksum {
        // One that nobody has written yet was on no line.
        Checksum::Verified | Checksum::Partial { .. } => return true,
        Checksum::Sum(sum) => sum,
        Checksum::Unknown => {
            cx.charge(Work::Sum, message.unsummed() as u64);
            message.sum()
        }
    };
    pseudo(source, destination, len).plus(sum).is_valid()
}

/// Sends `header` and `text` from `pair.local` to `pair.remote`: as one segment where `text` has at most `size` octets,
/// otherwise as a super-segment that the device cuts after each `size` octets, where `ace` with CWR on all of them.
pub(crate) fn transmit_train(
    pair: &Pair,
    header: &Header,
    mut text: Message,
    (size, ace, bypass): (u32, bool, Option<AccessPoint>),
    options: IpParameters,
    cx: &mut Context<'_>,
) {
    let size = u16::try_from(size).unwrap_or(u16::MAX);
    if text.len() <= usize::from(size) {
        let by = SegmentPath { route: None, bypass };
        transmit_by(by, pair, header, text, options, cx);
        return;
    }
    let len = header.len();
    let total = len + text.len();
    let sum = pseudo(pair.local.ip(), pair.remote.ip(), total).folded();
    let room = text.push(len);
    header.emit(room);
    if let Some(field) = room.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
    // The device reads the text and writes each segment's checksum (MUST-2).
    *text.meta_mut() = Meta {
        segment_size: size,
        header_len: u16::try_from(len).unwrap_or(0),
        ace,
        checksum: Checksum::Partial { start: 0, field: u16::try_from(CHECKSUM_OFFSET).unwrap_or(0) },
    };
    let unit = Unit {
        source: pair.local.ip().into(),
        destination: pair.remote.ip().into(),
        options: UnitOptions::of(options),
        ..Unit::of(text)
    };
    hand_down(bypass, Box::new(unit), cx);
}

/// To the layer below, or past it where it has stepped out of the path.
fn hand_down(bypass: Option<AccessPoint>, unit: Box<Unit>, cx: &mut Context<'_>) {
    match bypass {
        None => cx.down(Below(0), Request::Unit(unit)),
        Some(bypass) => cx.down_past(bypass, Request::Unit(unit)),
    }
}

/// Sends `header` and `text` from `pair.local` to `pair.remote`.
pub(crate) fn transmit(pair: &Pair, header: &Header, text: Message, options: IpParameters, cx: &mut Context<'_>) {
    transmit_by(SegmentPath::default(), pair, header, text, options, cx);
}

/// The options of a SYN that go into `room` octets beside both headers and IP's options: what a peer can do without
/// stays away where a link is so narrow that it does not carry all.
pub(crate) fn fitted(options: Options, room: u32) -> Options {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let mut fitted = options;
    if fitted.len() > room {
        fitted.accecn = None;
    }
    if fitted.len() > room {
        fitted.user_timeout = None;
    }
    fitted
}

/// How a segment goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentPath<'a> {
    /// By these gateways.
    pub(crate) route: Option<&'a SourceRoute>,
    /// Past the layer below.
    pub(crate) bypass: Option<AccessPoint>,
}

impl<'a> From<Option<&'a SourceRoute>> for SegmentPath<'a> {
    fn from(route: Option<&'a SourceRoute>) -> Self {
        Self { route, bypass: None }
    }
}

/// As [`transmit`], by the gateways of a source route or past the layer below. The checksum is put in here (MUST-2),
/// and the source address is always that of the connection (MUST-45).
pub(crate) fn transmit_by<'a>(
    by: impl Into<SegmentPath<'a>>,
    pair: &Pair,
    header: &Header,
    mut text: Message,
    options: IpParameters,
    cx: &mut Context<'_>,
) {
    let SegmentPath { route, bypass } = by.into();
    let unread = text.unsummed();
    if unread > 0 {
        cx.charge(Work::Sum, unread as u64);
    }
    let len = header.len();
    let sum = text.sum().at(len);
    let total = len + text.len();
    let room = text.push(len);
    header.emit(room);
    let checksum = pseudo(pair.local.ip(), pair.remote.ip(), total).plus(Sum::of(room)).plus(sum).checksum();
    if let Some(field) = room.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2) {
        field.copy_from_slice(&checksum.to_be_bytes());
    }
    let unit = Unit {
        source: pair.local.ip().into(),
        destination: pair.remote.ip().into(),
        session: None,
        options: UnitOptions::of(options),
        parameters: route.map_or(Parameters::NONE, |route| Parameters::of(route.clone())),
        data: text,
    };
    hand_down(bypass, Box::new(unit), cx);
}

/// As [`transmit_by`] for a plain header, which is summed as it is made; the text's sum is known.
pub(crate) fn transmit_plain(
    pair: &Pair,
    header: &PlainHeader,
    mut text: Message,
    options: IpParameters,
    bypass: Option<AccessPoint>,
    cx: &mut Context<'_>,
) {
    let (octets, len) = header.octets();
    let total = len + text.len();
    // An even number of octets in front changes nothing of the text's sum.
    let sum = pseudo(pair.local.ip(), pair.remote.ip(), total).plus(header.sum()).plus(text.sum());
    let room = text.push_octets(octets.get(..len).unwrap_or_default());
    if let Some(field) = room.get_mut(CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2) {
        field.copy_from_slice(&sum.checksum().to_be_bytes());
    }
    let unit = Unit {
        source: pair.local.ip().into(),
        destination: pair.remote.ip().into(),
        options: UnitOptions::of(options),
        ..Unit::of(text)
    };
    hand_down(bypass, Box::new(unit), cx);
}

/// Answers `segment`, which belongs to no connection, with a reset (RFC 9293 section 3.10.7.1); false where it is none
/// that may be answered.
pub(crate) fn reset(pair: &Pair, segment: &Segment, options: IpParameters, cx: &mut Context<'_>) -> bool {
    if segment.has(Flags::RST) {
        return false;
    }
    let mut header =
        Header { source_port: pair.local.port(), destination_port: pair.remote.port(), ..Header::default() };
    if segment.has(Flags::ACK) {
        header.seq = segment.ack;
        header.flags = Flags::RST;
    } else {
        header.ack = segment.seq + segment.len();
        header.flags = Flags::RST | Flags::ACK;
    }
    transmit(pair, &header, Message::new(), options, cx);
    true
}
