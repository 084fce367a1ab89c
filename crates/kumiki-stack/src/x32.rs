//! The settings of X.32.

use kumiki_graph::Duration;
use kumiki_osi_service::x25::Number;

use super::kinds::Built;
use super::reader::Reader;
use super::x25::{NUMBER, SOME};
use super::{BuildError, Place};
use kumiki_x25::lapb::Role;
use kumiki_x25::x32::{Config, Side, X32};

/// The words for which end of the link this is.
const SIDES: [(&str, Side); 3] =
    [("call", Side::ByCall), ("dte", Side::Fixed(Role::Dte)), ("dce", Side::Fixed(Role::Dce))];

fn number(text: &str) -> Option<Number> {
    text.parse().ok().filter(|number: &Number| !number.is_empty())
}

pub(super) fn x32(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let called = settings.text(
        "number",
        "whom it calls when a link is wanted; without it only calls that come are answered",
        NUMBER,
        "none",
        number,
    )?;
    let callers = settings.texts("callers", "who may call; anybody, where nobody is named", NUMBER, number)?;
    let mut config = Config { number: called, callers, ..Config::default() };
    settings.boolean(
        "call_back",
        "whether callers are refused, and called back at their number in `callers`",
        &mut config.call_back,
    )?;
    settings.word("role", "which end of the link this is; call: who calls is the DTE", &SIDES, &mut config.side)?;
    timing(settings, &mut config)?;
    settings.number("redials", "how often a call that has failed is made again", 0..=255, &mut config.redials)?;
    let node = X32::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn timing(settings: &Reader<'_>, config: &mut Config) -> Result<(), BuildError> {
    for (key, meaning, least, place) in [
        ("call_back_after", "so long after clearing it calls back", Duration::ZERO, &mut config.call_back_after),
        (
            "call_back_within",
            "how long it waits to be called back when its call was refused; 0: it is not called back",
            Duration::ZERO,
            &mut config.call_back_within,
        ),
        ("patience", "how long a call may take until it is answered", SOME, &mut config.patience),
        (
            "redial_after",
            "the wait before a call that has failed is made again; it doubles each time",
            SOME,
            &mut config.redial_after,
        ),
        ("redial_most", "the longest such wait", SOME, &mut config.redial_most),
        ("idle", "after so long without an I frame the circuit is cleared; 0: never", Duration::ZERO, &mut config.idle),
        (
            "identify",
            "how long a circuit may stand until identification, a node of an embedder's, has admitted the other end; 0: there is none",
            Duration::ZERO,
            &mut config.identify,
        ),
    ] {
        settings.time(key, meaning, least, place)?;
    }
    Ok(())
}
