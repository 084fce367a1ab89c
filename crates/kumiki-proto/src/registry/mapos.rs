//! The settings of MAPOS: the driver, the end node, the switch.

use kumiki_graph::Duration;
use kumiki_wire::mapos::{Address, MAX_INFORMATION, Width};

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use crate::sdh::{self, Sdh};

/// The words for [`Width`].
const WIDTHS: [(&str, Width); 2] = [("mapos", Width::Eight), ("mapos16", Width::Sixteen)];
const SOME: Duration = Duration::from_nanos(1);
const HDLC: &str = "an HDLC address such as \"0x23\", of MAPOS 16 such as \"0x5007\"";

fn hdlc(text: &str) -> Option<Address> {
    text.parse().ok()
}

fn width(settings: &Reader<'_>, width: &mut Width) -> Result<(), BuildError> {
    const MEANING: &str = "which MAPOS: addresses of 8 bits (RFC 2171) or of 16 (RFC 2175)";
    settings.word("version", MEANING, &WIDTHS, width)
}

pub(super) fn sdh(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = sdh::Config::default();
    width(settings, &mut config.width)?;
    config.address = settings.text(
        "address",
        "our MAPOS address, where no switch is to be asked for it",
        HDLC,
        "asked for (NSP)",
        hdlc,
    )?;
    settings.octets(
        "mtu",
        "the most octets of information in a frame",
        1..=MAX_INFORMATION.try_into().unwrap_or(u64::MAX),
        &mut config.mtu,
    )?;
    settings.table("nsp", |table| {
        table.time(
            "retry",
            "from a request for our address without an answer to the next",
            SOME,
            &mut config.nsp.retry,
        )?;
        table.time(
            "verify",
            "from a request that was answered to the next, by which the switch knows that we are there",
            SOME,
            &mut config.nsp.verify,
        )
    })?;
    settings.time(
        "hold",
        "how long a protocol that PPP has stopped to pass stays PPP's, where MAPOS may have it too",
        Duration::ZERO,
        &mut config.hold,
    )?;
    let node = Sdh::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}
