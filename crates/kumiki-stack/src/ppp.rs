//! The settings of the daemon of a PPP link.

use core::net::Ipv4Addr;

use kumiki_graph::Duration;
use kumiki_wire::ppp::ppp::ipv6cp::InterfaceIdentifier;

use super::kinds::{ADDRESS, Built, address};
use super::reader::Reader;
use super::{BuildError, Place};
use kumiki_ppp::ppp_daemon::misbehave::Script;
use kumiki_ppp::ppp_daemon::{Config, Ipv4, Ipv6, Methods, PppDaemon, Secret};

const METHODS: &[(&str, Methods)] =
    &[("none", Methods::None), ("pap", Methods::Pap), ("chap", Methods::Chap), ("either", Methods::Either)];
const SOME: Duration = Duration::from_nanos(1);

/// Control characters: bit n for octet n.
fn accm(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// An interface identifier: 16 hexadecimal digits, colons between them as one likes.
fn identifier(text: &str) -> Option<InterfaceIdentifier> {
    let digits: String = text.chars().filter(|digit| *digit != ':').collect();
    let word = u64::from_str_radix(&digits, 16).ok();
    let word = word.filter(|_| digits.len() == 16)?;
    Some(InterfaceIdentifier(word.to_be_bytes()))
}

pub(super) fn make(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = Config::default();
    link(settings, &mut config)?;
    names(settings, &mut config)?;
    config.ipv4 = ipv4(settings)?;
    config.ipv6 = ipv6(settings)?;
    watch(settings, &mut config)?;
    patience(settings, &mut config)?;
    let node = PppDaemon::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn link(settings: &Reader<'_>, config: &mut Config) -> Result<(), BuildError> {
    settings.octets(
        "mru",
        "the most octets of a datagram that the peer may send; asked for where it is not 1500",
        kumiki_ppp::ppp_daemon::LEAST_MRU.into()..=65535,
        &mut config.mru,
    )?;
    config.accm = settings.text(
        "accm",
        "asynchronous lines: the control characters that the peer is to escape, bit n for octet n; without it the line is synchronous",
        "8 hexadecimal digits such as \"000a0000\"",
        "none",
        accm,
    )?;
    settings.boolean("magic", "whether a magic number is asked for, by which loops are found", &mut config.magic)?;
    settings.boolean(
        "pfc",
        "whether protocols in one octet are taken, and sent to a peer that takes them",
        &mut config.pfc,
    )?;
    settings.boolean(
        "acfc",
        "whether frames without address and control are taken, and sent to a peer that takes them",
        &mut config.acfc,
    )?;
    const SEQUENCES: &[(&str, u8)] = &[("16", 16), ("32", 32)];
    settings.word("fcs", "bits of the check sequence that the line uses by itself", SEQUENCES, &mut config.fcs)?;
    config.ask_fcs = settings.text(
        "ask_fcs",
        "bits of the check sequence that the peer is asked to use",
        "\"16\" or \"32\"",
        "none",
        |text| {
            let found = SEQUENCES.iter().find(|(name, _)| *name == text);
            found.map(|(_, bits)| *bits)
        },
    )?;
    Ok(())
}

fn names(settings: &Reader<'_>, config: &mut Config) -> Result<(), BuildError> {
    const TEXT: &str = "text of 1 to 255 octets";
    let text = |text: &str| Some(text.to_owned());
    settings.word(
        "auth",
        "how the peer must say who it is; \"either\" is CHAP, or else PAP",
        METHODS,
        &mut config.auth,
    )?;
    config.secrets =
        settings.pairs("secrets", "<name>", "the secret of a peer that may come in", TEXT, |name, secret| {
            let (name, secret) = (name.to_owned(), secret.to_owned());
            Some(Secret { name, secret })
        })?;
    if let Some(name) = settings.text("name", "our own name", TEXT, &config.name, text)? {
        config.name = name;
    }
    config.secret = settings.text(
        "secret",
        "our own secret towards the peer; without it we do not say who we are",
        TEXT,
        "none",
        text,
    )?;
    settings.word("prove", "how we say who we are, where there is a secret", METHODS, &mut config.prove)?;
    settings.maybe_time(
        "rechallenge",
        "how often a peer that has come in by CHAP is asked again",
        SOME,
        &mut config.rechallenge,
        "never",
    )
}

fn ipv4(settings: &Reader<'_>) -> Result<Option<Ipv4>, BuildError> {
    let (mut wanted, mut config) = (true, Ipv4::default());
    settings.boolean("ipv4", "whether IPv4 is negotiated", &mut wanted)?;
    let one = |key, meaning, place: &mut Ipv4Addr| {
        let read = settings.text(key, meaning, ADDRESS, &place.to_string(), address)?;
        *place = read.unwrap_or(*place);
        Ok::<_, BuildError>(())
    };
    one("local", "our address; 0.0.0.0: the peer is to give us one", &mut config.local)?;
    settings.boolean(
        "accept_local",
        "whether the peer may give us another one than `local`",
        &mut config.accept_local,
    )?;
    one(
        "remote",
        "the peer's address, which it is given where it asks for one; 0.0.0.0: what it says is taken",
        &mut config.remote,
    )?;
    settings.boolean(
        "accept_remote",
        "whether the peer may have another one than `remote`",
        &mut config.accept_remote,
    )?;
    settings.boolean("ask_dns", "whether the peer is asked for its name servers", &mut config.ask_dns)?;
    let dns =
        settings.texts("dns", "name servers that a peer is told which asks for them, two at most", ADDRESS, address)?;
    if dns.len() > 2 {
        let text = format!("{} name servers", dns.len());
        return Err(settings.wrong("dns", &text, "one or two"));
    }
    config.dns = [dns.first().copied(), dns.get(1).copied()];
    Ok(wanted.then_some(config))
}

fn ipv6(settings: &Reader<'_>) -> Result<Option<Ipv6>, BuildError> {
    let mut wanted = true;
    settings.boolean("ipv6", "whether IPv6 is negotiated", &mut wanted)?;
    let identifier = settings.text(
        "identifier",
        "our interface identifier",
        "16 hexadecimal digits such as \"0000:0000:0000:0001\"",
        "random",
        identifier,
    )?;
    Ok(wanted.then_some(Ipv6 { identifier }))
}

fn watch(settings: &Reader<'_>, config: &mut Config) -> Result<(), BuildError> {
    settings.maybe_time(
        "echo_interval",
        "how often the peer is asked for an echo",
        SOME,
        &mut config.echo_interval,
        "never",
    )?;
    settings.number(
        "echo_failure",
        "echoes that do not come, in a row, after which the link is closed; 0: it is not",
        0..=65535,
        &mut config.echo_failure,
    )?;
    settings.maybe_time(
        "lqr_period",
        "how often the peer is to report the quality of the link (RFC 1989)",
        Duration::from_millis(10),
        &mut config.quality.period,
        "never",
    )?;
    settings.boolean(
        "lqr",
        "whether we report the quality of the link to a peer that asks for it",
        &mut config.quality.report,
    )?;
    settings.number(
        "lqr_good",
        "so many of the last `lqr_of` periods must have been good, or the link is closed; 0: it is not",
        0..=1000,
        &mut config.quality.good,
    )?;
    settings.number("lqr_of", "periods that are looked at", 1..=1000, &mut config.quality.of)?;
    settings.number(
        "lqr_loss",
        "percent of the packets that may be lost in a good period, each way",
        0..=100,
        &mut config.quality.loss_percent,
    )?;
    config.identification = settings.text(
        "identification",
        "what the peer is told of us when the link has come up, for people",
        "text of 1492 octets at most",
        "nothing",
        |text| Some(text.to_owned()),
    )?;
    settings.maybe_time(
        "session",
        "how long the link stays up before it is closed; the peer is told",
        SOME,
        &mut config.session,
        "without limit",
    )
}

fn patience(settings: &Reader<'_>, config: &mut Config) -> Result<(), BuildError> {
    settings.time(
        "restart",
        "how long an answer may take before a request is sent again",
        SOME,
        &mut config.restart,
    )?;
    settings.time("restart_first", "the same at first; it doubles up to `restart`", SOME, &mut config.restart_first)?;
    settings.number(
        "max_configure",
        "requests without an answer after which a peer is given up",
        1..=65535,
        &mut config.max_configure,
    )?;
    settings.number(
        "max_failure",
        "Naks after which an option is rejected, and after which one of ours is given up",
        1..=65535,
        &mut config.max_failure,
    )?;
    settings.number(
        "max_terminate",
        "Terminate-Requests without an answer after which the link is over",
        1..=65535,
        &mut config.max_terminate,
    )?;
    settings.boolean("passive", "whether a peer that does not answer is waited for", &mut config.passive)?;
    settings.boolean(
        "persist",
        "whether the link is tried again after it has ended or the line was lost",
        &mut config.persist,
    )?;
    settings.time("retry", "how long after an end it is tried again", SOME, &mut config.retry)?;
    let mut why = None;
    let script = settings.text(
        "script",
        "what is done wrong on purpose, as docs/ppp.md has it",
        "rules, one on a line",
        "nothing",
        |text| match Script::parse(text) {
            Ok(script) => Some(script),
            Err(error) => {
                why = Some(error);
                None
            }
        },
    );
    if let Some(error) = why {
        return Err(BuildError::refused(&format!("script, {error}")));
    }
    config.script = script?;
    Ok(())
}
