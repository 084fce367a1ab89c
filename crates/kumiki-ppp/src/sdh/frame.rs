//! Frames of MAPOS at the edge of a line, for the driver and for the switch.

use kumiki_octets::Message;
use kumiki_wire::Malformed;
use kumiki_wire::ppp::mapos::{Address, Header, LEN, MAX_INFORMATION, Width, nsp, protocol};

/// Why a frame is dropped before anybody looks whose it is (RFC 2171 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameError {
    /// The header is not all there.
    Short,
    /// The information is longer than MAPOS carries.
    Long,
    /// The address cannot be one.
    Address,
    /// The control field is not 03.
    Control,
}

impl FrameError {
    /// For [`kumiki_graph::Context::drop`].
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Short => "MAPOS header cut short",
            Self::Long => "longer than MAPOS carries",
            Self::Address => "no MAPOS address of this width",
            Self::Control => "control field is not 03",
        }
    }
}

/// Reads the header of a frame, which stays where it is.
pub(crate) fn read(width: Width, data: &mut Message) -> Result<Header, FrameError> {
    match Header::parse(width, data.front_at_least(LEN)) {
        Ok(_) if data.len() > LEN + MAX_INFORMATION => Err(FrameError::Long),
        Ok((header, _)) => Ok(header),
        Err(Malformed::Short { .. }) => Err(FrameError::Short),
        Err(Malformed::Field { field: "control", .. }) => Err(FrameError::Control),
        // Some causes are there only with the feature of another family.
        Err(_) => Err(FrameError::Address),
    }
}

/// Puts a header in front of the information.
pub(crate) fn frame(destination: Address, protocol: u16, mut data: Message) -> Message {
    let header = Header { destination, protocol };
    header.emit(data.push_header(LEN));
    data
}

/// A frame of NSP.
pub(crate) fn nsp(to: Address, header: nsp::Header) -> Message {
    let mut data = Message::new();
    header.emit(data.push(header.len()));
    frame(to, protocol::NSP, data)
}
