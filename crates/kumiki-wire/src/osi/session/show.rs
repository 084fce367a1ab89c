//! SPDUs in one line each.

use core::fmt;

use kumiki_osi_service::session::refusal;

use super::{Connection, Enclosed, Enclosure, Spdu};

impl fmt::Display for Enclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.enclosure {
            Some(Enclosure { begin: true, end: false }) => f.write_str(" first part")?,
            Some(Enclosure { begin: false, end: false }) => f.write_str(" middle part")?,
            Some(Enclosure { begin: false, end: true }) => f.write_str(" last part")?,
            Some(Enclosure { begin: true, end: true }) | None => {}
        }
        match &self.data {
            Some(data) => write!(f, " data {}", data.len()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Connection {
    /// Without the name, which is CN or AC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.functional_units)?;
        if let Some(calling) = &self.calling {
            write!(f, " calling {calling}")?;
        }
        if let Some(called) = &self.called {
            write!(f, " called {called}")?;
        }
        if self.overflow {
            f.write_str(" overflow")?;
        }
        self.data.fmt(f)
    }
}

impl fmt::Display for Spdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code().name())?;
        match self {
            Self::Connect(connection) | Self::Accept(connection) => connection.fmt(f),
            Self::Refuse(refuse) => write!(f, " {}", refusal::meaning(refuse.reason)),
            Self::Finish(finish) => finish.data.fmt(f),
            Self::Abort(abort) => write!(f, " {}{}", abort.meaning(), abort.data),
            Self::Expedited(data) => write!(f, " data {}", data.len()),
            Self::GiveTokens { tokens, data } | Self::PleaseTokens { tokens, data } => {
                write!(f, " tokens {:#04x}{data}", tokens.0)
            }
            Self::MinorSync(point) | Self::MajorSync(point) => {
                write!(f, " {}{}", point.number, point.data)
            }
            Self::MinorSyncAck { number, data } | Self::MajorSyncAck { number, data } => {
                write!(f, " {number}{data}")
            }
            Self::Resync(resync) => write!(f, " {} {}{}", resync.kind, resync.number, resync.data),
            Self::ResyncAck(ack) => write!(f, " {}{}", ack.number, ack.data),
            Self::Prepare(kind) => write!(f, " type {kind}"),
            Self::ExceptionData { reason, data } => write!(f, " reason {reason}{data}"),
            Self::Overflow(data)
            | Self::Disconnect(data)
            | Self::NotFinished(data)
            | Self::Data(data)
            | Self::TypedData(data)
            | Self::GiveTokensConfirm(data)
            | Self::Other { data, .. } => data.fmt(f),
            Self::OverflowAccept { .. } | Self::AbortAccept | Self::GiveTokensAck | Self::ExceptionReport { .. } => {
                Ok(())
            }
        }
    }
}
