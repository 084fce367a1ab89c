//! The primitives of [`Service::UNIT_DATA`](super::Service::UNIT_DATA) and [`Service::FRAME`](super::Service::FRAME):
//! those that are about no session.
//!
//! A layer without sessions asks here what is for it. So the others are named once, and whoever adds a primitive
//! decides once whether such layers have to do with it.

use super::{Credit, Indication, Manage, Report, Request, Unit};

/// A request to a provider without sessions.
#[derive(Clone, Debug)]
pub enum UnitRequest {
    /// Send a datagram or a frame.
    Unit(Box<Unit>),
    /// Ask for or set what belongs to the layer.
    Manage(Box<Manage>),
}

/// An indication from a provider without sessions.
#[derive(Clone, Debug)]
pub enum UnitIndication {
    /// A datagram or a frame arrived.
    Unit(Box<Unit>),
    /// The provider has room for so much more.
    Credit(Credit),
    /// Something happened that concerns the layer, or a request to manage was answered.
    Report(Box<Report>),
}

impl Request {
    /// This request as a provider without sessions has it; `None` where it is about a session.
    #[inline]
    #[must_use]
    pub fn of_unit_data(self) -> Option<UnitRequest> {
        match self {
            Self::Unit(unit) => Some(UnitRequest::Unit(unit)),
            Self::Manage(manage) => Some(UnitRequest::Manage(manage)),
            Self::Open(_)
            | Self::Accept(_)
            | Self::Cancel { .. }
            | Self::Data { .. }
            | Self::Special { .. }
            | Self::Expedited { .. }
            | Self::Credit { .. }
            | Self::Release { .. }
            | Self::Abort { .. }
            | Self::Reset { .. } => None,
        }
    }
}

impl Indication {
    /// This indication as the user of a provider without sessions has it; `None` where it is about a session.
    #[inline]
    #[must_use]
    pub fn of_unit_data(self) -> Option<UnitIndication> {
        match self {
            Self::Unit(unit) => Some(UnitIndication::Unit(unit)),
            Self::Credit { credit, .. } => Some(UnitIndication::Credit(credit)),
            Self::Report(report) => Some(UnitIndication::Report(report)),
            Self::Opened(_)
            | Self::Offered(_)
            | Self::Data { .. }
            | Self::Special { .. }
            | Self::Expedited { .. }
            | Self::Released { .. }
            | Self::Closed { .. }
            | Self::Aborted { .. }
            | Self::Reset { .. }
            | Self::Notice { .. } => None,
        }
    }
}
