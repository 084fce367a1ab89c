//! An XTP packet as it was on the wire.

use kumiki_octets::{Message, Sum};
use kumiki_wire::Malformed;
use kumiki_wire::xtp::{
    BTAG_LEN, Control, Diagnosis, Errors, First, Format, Header, Join, LEN, Options, Span, TrafficControl, covered,
};

/// No control packet has more octets of payload: 512 spans and what is before them, and there is room for more.
const MOST: usize = 1 << 14;

/// What a packet says.
#[derive(Debug)]
pub(super) enum Body {
    First { text: Message },
    Data { tag: Option<[u8; BTAG_LEN]>, text: Message },
    Control { control: Control, spans: Vec<Span> },
    Diag(Diagnosis),
}

/// A packet.
#[derive(Debug)]
pub(super) struct DecodedPacket {
    pub(super) header: Header,
    pub(super) body: Body,
}

impl DecodedPacket {
    pub(super) fn control(&self) -> Option<(Control, &[Span])> {
        match &self.body {
            Body::Control { control, spans } => Some((*control, spans)),
            Body::First { .. } | Body::Data { .. } | Body::Diag(_) => None,
        }
    }

    pub(super) const fn diagnosis(&self) -> Option<Diagnosis> {
        match &self.body {
            Body::Diag(diagnosis) => Some(*diagnosis),
            Body::First { .. } | Body::Data { .. } | Body::Control { .. } => None,
        }
    }
}

/// The octets at the front of `data`, `len` of them.
fn front_of(data: &Message, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len.min(data.len())];
    // There are so many.
    let _ = data.copy_to(0, &mut octets);
    octets
}

macro_rules! written {
    ($what:expr) => {{
        let what = &$what;
        let mut out = vec![0; what.len()];
        what.emit(&mut out);
        out
    }};
}

/// Reads `packet`, or says what is wrong with it. `strictly`: all sums are taken again, and it must be as it would be
/// written again.
pub(super) fn read(packet: &Message, strictly: bool) -> Result<DecodedPacket, String> {
    let malformed = |why: Malformed| why.to_string();
    let mut data = packet.clone();
    let front = front_of(&data, LEN);
    let covered = covered(&front, data.len()).ok_or("it is cut off")?;
    let (header, _) = Header::parse(&front, data.len()).map_err(malformed)?;
    let payload = usize::try_from(header.dlen).unwrap_or(usize::MAX);
    let whole = LEN.saturating_add(payload);
    if strictly {
        data.forget_sums();
        if whole != data.len() || written!(header) != front {
            return Err("it is not as it would be written".to_owned());
        }
    }
    data.truncate(whole);
    let sum = if covered == LEN { Sum::of(&front) } else { data.sum() };
    if !sum.is_valid() {
        return Err("the checksum is wrong".to_owned());
    }
    data.pop(LEN).map_err(|_| "it is cut off")?;
    let (body, again) = body(&header, data.clone()).map_err(malformed)?;
    if strictly && again != front_of(&data, again.len()) {
        return Err("its payload is not as it would be written".to_owned());
    }
    Ok(DecodedPacket { header, body })
}

/// The payload, and what of it is no user's data, written again.
fn body(header: &Header, mut data: Message) -> Result<(Body, Vec<u8>), Malformed> {
    let octets = front_of(&data, MOST);
    let of_control = |control, spans| Body::Control { control, spans };
    Ok(match header.format {
        Format::Data => {
            let is_tagged = header.options.contains(Options::BTAG);
            let tag = octets.first_chunk().copied().filter(|_| is_tagged);
            if tag.is_some() {
                // Its length has been looked at.
                let _ = data.pop(BTAG_LEN);
            }
            (Body::Data { tag, text: data }, Vec::new())
        }
        Format::First => {
            let (first, len) = First::parse(&octets)?;
            let _ = data.pop(len);
            (Body::First { text: data }, written!(first))
        }
        Format::Cntl => {
            let control = Control::parse_whole(&octets)?;
            (of_control(control, Vec::new()), written!(control))
        }
        Format::Ecntl => {
            let errors = Errors::parse(&octets)?;
            let again = written!(errors);
            (of_control(errors.control, errors.spans), again)
        }
        Format::Tcntl => {
            let it = TrafficControl::parse(&octets)?;
            (of_control(it.control, Vec::new()), written!(it))
        }
        Format::Jcntl => {
            let it = Join::parse(&octets)?;
            (of_control(it.control, Vec::new()), written!(it))
        }
        Format::Diag => {
            let (diagnosis, _) = Diagnosis::parse(&octets)?;
            (Body::Diag(diagnosis), written!(diagnosis))
        }
    })
}
