//! The settings of LAPB, X.25 and XOT.

use kumiki_graph::Duration;
use kumiki_wire::lapb::Modulo;

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use crate::lapb::{self, Lapb, Role};

const ANY: u64 = u32::MAX as u64;
const SOME: Duration = Duration::from_nanos(1);

/// The words for the two ends of a line.
const ROLES: [(&str, Role); 2] = [("dte", Role::Dte), ("dce", Role::Dce)];

/// The modulus, by whether it is 128.
fn modulo(
    settings: &Reader<'_>,
    meaning: &'static str,
    place: &mut Modulo,
) -> Result<(), BuildError> {
    let mut extended = *place == Modulo::Extended;
    settings.boolean("extended", meaning, &mut extended)?;
    *place = if extended {
        Modulo::Extended
    } else {
        Modulo::Eight
    };
    Ok(())
}

pub(super) fn lapb(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = lapb::Config::default();
    settings.word(
        "role",
        "which end of the line this is: dte has address A, dce address B",
        &ROLES,
        &mut config.role,
    )?;
    modulo(
        settings,
        "whether frames are numbered modulo 128 (SABME) and not 8 (SABM)",
        &mut config.modulo,
    )?;
    settings.number(
        "k",
        "I frames that may be sent without acknowledgment; at most 7 without `extended`",
        1..=127,
        &mut config.k,
    )?;
    settings.octets(
        "information",
        "the most octets of information in a frame: N1 less address, control and check sequence",
        1..=65_535,
        &mut config.information,
    )?;
    settings.time(
        "t1",
        "T1: after so long without the answer wanted something is done again",
        SOME,
        &mut config.t1,
    )?;
    settings.time(
        "t2",
        "T2: how long an acknowledgment waits for a frame to travel with; less than T1",
        Duration::ZERO,
        &mut config.t2,
    )?;
    settings.time(
        "t3",
        "T3: after so long without a frame from the peer it is polled; 0: never",
        Duration::ZERO,
        &mut config.t3,
    )?;
    settings.number(
        "n2",
        "N2: how often something is tried before it is given up",
        1..=255,
        &mut config.n2,
    )?;
    settings.maybe_number(
        "acknowledge",
        "I frames that are acknowledged at once when so many have come",
        1..=127,
        &mut config.acknowledge,
        "half of `k`",
    )?;
    settings.boolean(
        "poll",
        "whether the I frame that fills the window polls, so that a peer with a long T2 answers at once",
        &mut config.poll,
    )?;
    settings.number(
        "receive",
        "frames that the user has room for, where it does not say",
        1..=ANY,
        &mut config.receive,
    )?;
    let node = Lapb::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}
