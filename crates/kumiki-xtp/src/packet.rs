//! Packets in and out: header, segments and checksum against octets.

use core::net::IpAddr;
use kumiki_wire::inet::IpParameters;

use kumiki_graph::{AccessPoint, Address, Below, Context, Parameters, Request, Unit, UnitOptions, Work};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::xtp::{
    self, BTAG_LEN, CHECK_OFFSET, Control, Diagnosis, Errors, First, Format, Header, Join, Key, LEN, Options, Span,
    Traffic, TrafficControl, code, covered, val,
};

use super::send::Tag;

/// What is looked at of a FIRST packet's segments: the longest that are known.
const SEGMENTS: usize = 40 + 24;

/// What a packet carries beside its header.
#[derive(Debug)]
pub(crate) enum Body {
    Data {
        tag: Option<Tag>,
        text: Message,
    },
    First {
        first: First,
        text: Message,
    },
    /// Any of the control packets, with what only some of them have.
    Control {
        control: Control,
        spans: Vec<Span>,
        exchange: Option<(Key, Traffic)>,
        /// Of JCNTL: the group, and who joins or is joined.
        join: Option<xtp::Address>,
    },
    Diag(Diagnosis),
}

/// A packet that has arrived intact.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// Whom it comes from and was sent to, as the layer below says it.
    pub(crate) source: Address,
    pub(crate) destination: Address,
    /// It was sent to a group.
    pub(crate) group: bool,
    pub(crate) header: Header,
    pub(crate) body: Body,
}

impl Arrived {
    pub(crate) const fn has(&self, option: Options) -> bool {
        self.header.options.contains(option)
    }
}

/// Why a packet was dropped, and what should be said of it.
#[derive(Debug)]
pub(crate) struct PacketDrop {
    pub(crate) why: &'static str,
    /// For an intact packet: where it came from, its key, and the answer.
    pub(crate) answer: Option<(Address, Address, Key, Diagnosis)>,
}

const fn silently(why: &'static str) -> PacketDrop {
    PacketDrop { why, answer: None }
}

/// Reads what the layer below indicated and verifies its checksum. Padding of the link goes.
pub(crate) fn receive(unit: Box<Unit>, cx: &mut Context<'_>) -> Result<Arrived, PacketDrop> {
    let (source, destination) = (unit.source, unit.destination);
    let group = unit.options.group || destination.ip().is_some_and(|it| it.is_multicast());
    let mut text = unit.data;
    let total = text.len();
    let front = text.front(LEN).map_err(|_| silently("malformed"))?;
    let covered = covered(front, total).ok_or_else(|| silently("malformed"))?;
    let whole = whole_len(front).min(total);
    text.truncate(whole);
    if !is_intact(&mut text, covered, cx) {
        return Err(silently("bad checksum"));
    }
    let front = text.front(LEN).map_err(|_| silently("malformed"))?;
    let (header, _) = Header::parse(front, whole).map_err(|_| PacketDrop {
        why: "malformed",
        answer: key_of(front).map(|key| {
            let diagnosis = Diagnosis { code: code::PROTOCOL_ERROR, val: val::UNSPECIFIED };
            (source, destination, key, diagnosis)
        }),
    })?;
    // What a device has summed is no longer of interest.
    text.meta_mut().checksum = Checksum::Unknown;
    let body = body(&header, text).map_err(|diagnosis| PacketDrop {
        why: "malformed",
        // A DIAG is not answered, whatever is wrong with it.
        answer: (header.format != Format::Diag).then_some((source, destination, header.key, diagnosis)),
    })?;
    Ok(Arrived { source, destination, group, header, body })
}

/// The key of a header that is otherwise wrong.
fn key_of(front: &[u8]) -> Option<Key> {
    // A DIAG is not answered, whatever is wrong with it.
    let format = front.get(11)? & 0x1f;
    let key = u64::from_be_bytes(*front.first_chunk()?);
    (format != 8).then_some(Key(key))
}

fn whole_len(front: &[u8]) -> usize {
    let dlen = front.get(12..16).and_then(|it| it.first_chunk());
    let dlen = dlen.map_or(0, |dlen| u32::from_be_bytes(*dlen));
    LEN.saturating_add(usize::try_from(dlen).unwrap_or(usize::MAX))
}

fn is_intact(message: &mut Message, covered: usize, cx: &mut Context<'_>) -> bool {
    if message.meta().checksum == Checksum::Verified {
        return true;
    }
    if covered < message.len() {
        return message.front(covered).is_ok_and(|front| Sum::of(front).is_valid());
    }
    let sum = match message.meta().checksum {
        Checksum::Sum(sum) => sum,
        Checksum::Verified | Checksum::Unknown | Checksum::Partial { .. } => {
            cx.charge(Work::Sum, message.unsummed() as u64);
            message.sum()
        }
    };
    sum.is_valid()
}

/// Reads the payload; `Err`: what is wrong with it.
fn body(header: &Header, mut text: Message) -> Result<Body, Diagnosis> {
    const BROKEN: Diagnosis = Diagnosis { code: code::PROTOCOL_ERROR, val: val::UNSPECIFIED };
    match header.format {
        Format::Data => {
            let tagged = header.options.contains(Options::BTAG);
            let len = LEN + if tagged { BTAG_LEN } else { 0 };
            let front = text.front(len).map_err(|_| BROKEN)?;
            let tag = front.get(LEN..).and_then(|it| it.first_chunk()).copied();
            text.pop(len).map_err(|_| BROKEN)?;
            Ok(Body::Data { tag: tag.filter(|_| tagged), text })
        }
        Format::First => {
            let front = text.front(text.len().min(LEN + SEGMENTS));
            let payload = front.ok().and_then(|it| it.get(LEN..)).unwrap_or_default();
            let (first, len) = segments(payload)?;
            text.pop(LEN + len).map_err(|_| BROKEN)?;
            Ok(Body::First { first, text })
        }
        Format::Cntl | Format::Ecntl | Format::Tcntl | Format::Jcntl => {
            let len = text.len();
            let front = text.front(len).map_err(|_| BROKEN)?;
            let payload = front.get(LEN..).unwrap_or_default();
            control(header.format, payload).map_err(|_| BROKEN)
        }
        Format::Diag => {
            let front = text.front(LEN + 8).map_err(|_| BROKEN)?;
            let payload = front.get(LEN..).unwrap_or_default();
            let (diagnosis, _) = Diagnosis::parse(payload).map_err(|_| BROKEN)?;
            Ok(Body::Diag(diagnosis))
        }
    }
}

/// The segments of a FIRST packet; where one cannot be used, which.
fn segments(payload: &[u8]) -> Result<(First, usize), Diagnosis> {
    let refuse = |val| Diagnosis { code: code::REFUSED, val };
    if let Some(format) = payload.get(3)
        && !matches!(format, 0 | 1 | 6)
    {
        return Err(refuse(val::ADDRESS_FORMAT));
    }
    let (address, alen) = xtp::Address::parse(payload).map_err(|_| refuse(val::MALFORMED_ADDRESS))?;
    let rest = payload.get(alen..).unwrap_or_default();
    if let Some(format) = rest.get(3)
        && *format > 1
    {
        return Err(refuse(val::TRAFFIC_FORMAT));
    }
    let (traffic, tlen) = Traffic::parse(rest).map_err(|_| refuse(val::MALFORMED_TRAFFIC))?;
    Ok((First { address, traffic }, alen + tlen))
}

fn control(format: Format, payload: &[u8]) -> Result<Body, kumiki_wire::Malformed> {
    Ok(match format {
        Format::Ecntl => {
            let Errors { control, spans } = Errors::parse(payload)?;
            Body::Control { control, spans, exchange: None, join: None }
        }
        Format::Tcntl => {
            let it = TrafficControl::parse(payload)?;
            Body::Control { control: it.control, spans: Vec::new(), exchange: Some((it.xkey, it.traffic)), join: None }
        }
        Format::Jcntl => {
            let it = Join::parse(payload)?;
            Body::Control {
                control: it.control,
                spans: Vec::new(),
                exchange: Some((it.xkey, it.traffic)),
                join: Some(it.address),
            }
        }
        Format::Cntl | Format::Data | Format::First | Format::Diag => {
            Body::Control { control: Control::parse_whole(payload)?, spans: Vec::new(), exchange: None, join: None }
        }
    })
}

/// How packets of one context travel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    /// Past a layer that adds no header.
    pub(crate) bypass: Option<AccessPoint>,
    pub(crate) options: IpParameters,
}

/// What stands in front of the data.
pub(crate) enum DataPrefix<'a> {
    None,
    Tag(Tag),
    Octets(&'a [u8]),
}

impl DataPrefix<'_> {
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Tag(tag) => tag.len(),
            Self::Octets(octets) => octets.len(),
        }
    }
}

/// Sends `header`, `front` and `text`; the length and the checksum are put in here.
pub(crate) fn transmit(
    path: &Path,
    mut header: Header,
    front: &DataPrefix<'_>,
    mut text: Message,
    cx: &mut Context<'_>,
) {
    let nocheck = header.options.contains(Options::NOCHECK);
    let mut sum = Sum::ZERO;
    if !nocheck {
        let unread = text.unsummed();
        if unread > 0 {
            cx.charge(Work::Sum, unread as u64);
        }
        sum = text.sum();
    }
    let front = match front {
        DataPrefix::None => &[][..],
        DataPrefix::Tag(tag) => tag,
        DataPrefix::Octets(octets) => octets,
    };
    let len = LEN + front.len();
    header.dlen = u32::try_from(front.len() + text.len()).unwrap_or(u32::MAX);
    header.check = 0;
    let room = text.push(len);
    if let Some((head, rest)) = room.split_at_mut_checked(LEN) {
        header.emit(head);
        if rest.len() == front.len() {
            rest.copy_from_slice(front);
        }
    }
    let check = if nocheck {
        Sum::of(room.get(..LEN).unwrap_or_default()).checksum()
    } else {
        Sum::of(room).then(len, sum).checksum()
    };
    if let Some(field) = room.get_mut(CHECK_OFFSET..CHECK_OFFSET + 2) {
        field.copy_from_slice(&check.to_be_bytes());
    }
    let request = Request::Unit(Box::new(Unit {
        source: if path.local.is_unspecified() { Address::NONE } else { path.local.into() },
        destination: path.remote.into(),
        session: None,
        options: UnitOptions::of(path.options),
        parameters: Parameters::NONE,
        data: text,
    }));
    match path.bypass {
        Some(lower) => cx.down_past(lower, request),
        None => cx.down(Below(0), request),
    }
}
