//! What `--so_flags` says: a profile of TCP and settings, for a host at one address of each version of IP.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::time::Duration;

use kumiki_graph::Duration as Time;
use kumiki_inet::tcp::{Config, defaults};
use kumiki_settings::{Setting, Settings, Value, ValueFormat};
use thiserror::Error;

/// What a host is to be.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Flags {
    /// packetdrill's `--local_ip`, of both versions.
    pub(crate) addresses: [IpAddr; 2],
    /// What a packet carries, in octets.
    pub(crate) mtu: u16,
    /// What all that is random comes from.
    pub(crate) seed: u64,
    /// So long in virtual time a packet or a call is waited for.
    pub(crate) timeout: Duration,
    pub(crate) tcp: Config,
}

/// What is wrong with the text, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("--so_flags: {0}")]
pub(crate) struct FlagError(String);

impl Flags {
    fn of(tcp: Config) -> Self {
        Self {
            addresses: [
                IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
                IpAddr::V6(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1)),
            ],
            mtu: 1500,
            seed: 1,
            // No retransmission timer of a profile waits for longer.
            timeout: Duration::from_secs(130),
            tcp,
        }
    }

    /// What `text` says: `PROFILE KEY=VALUE ...`, each of which may be left out, separated by blanks or commas.
    pub(crate) fn parse(text: &str) -> Result<Self, FlagError> {
        let mut words = text.split([' ', ',', '\n', '\t']).filter(|it| !it.is_empty()).peekable();
        let profile = words.next_if(|word| !word.contains('=')).unwrap_or("linux");
        let tcp = defaults::named(profile).ok_or_else(|| {
            FlagError(format!("`{profile}` is no profile; expected {}", defaults::NAMES.join(" or ")))
        })?;
        let mut flags = Self::of(tcp);
        let mut settings = Settings::new();
        for word in words {
            let (key, value) =
                word.split_once('=').ok_or_else(|| FlagError(format!("`{word}`; expected KEY=VALUE")))?;
            if !flags.set(key, value)? {
                put(&mut settings, key, value)?;
            }
        }
        kumiki_settings::set("tcp", &mut flags.tcp, &settings).map_err(|why| FlagError(why.to_string()))?;
        Ok(flags)
    }

    /// Sets one of the host's own; false where it has none of that name.
    fn set(&mut self, key: &str, value: &str) -> Result<bool, FlagError> {
        let wrong = |what: &str| FlagError(format!("{key} is `{value}`; expected {what}"));
        match key {
            "address" => {
                let ip: IpAddr = value.parse().map_err(|_| wrong("an address of IP, as packetdrill's --local_ip"))?;
                let [v4, v6] = &mut self.addresses;
                *(if ip.is_ipv4() { v4 } else { v6 }) = ip;
            }
            "mtu" => self.mtu = value.parse().map_err(|_| wrong("octets, from 68 to 65535"))?,
            "seed" => self.seed = value.parse().map_err(|_| wrong("a number"))?,
            "timeout" => self.timeout = Duration::from_nanos(time(value).ok_or_else(|| wrong(SECONDS))?.as_nanos()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

const SECONDS: &str = "seconds, such as 0.04";

/// Seconds with up to nine decimals, as packetdrill writes times.
fn time(text: &str) -> Option<Time> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |it: &str| it.bytes().all(|octet| octet.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    Some(Time::from_nanos(whole.checked_mul(1_000_000_000)?.checked_add(part)?))
}

/// All settings of TCP.
fn known() -> Vec<Setting> {
    kumiki_settings::settings_of(&mut defaults::linux())
}

/// Puts `value` at `key`, which may name a setting in a table: `ack.every`.
fn put(settings: &mut Settings, key: &str, value: &str) -> Result<(), FlagError> {
    let path: Vec<&str> = key.split('.').collect();
    let form = known().into_iter().find(|it| it.is_at(&path)).map(|it| it.form);
    // Of one that nobody knows they say so themselves, and which is meant.
    let value = form.map_or_else(|| Ok(Value::from(value)), |form| read(key, value, &form))?;
    let [tables @ .., last] = &*path else {
        return Ok(());
    };
    insert(settings, tables, last, value);
    Ok(())
}

fn insert(settings: &mut Settings, tables: &[&str], last: &str, value: Value) {
    match tables {
        [] => settings.set(last, value),
        [table, rest @ ..] => {
            let mut inner = match settings.value(table) {
                Some(Value::Table(inner)) => inner.clone(),
                Some(_) | None => Settings::new(),
            };
            insert(&mut inner, rest, last, value);
            settings.set(table, inner);
        }
    }
}

/// `text` as a value of `form`, in base units: octets, seconds, bits per second, parts of one.
fn read(key: &str, text: &str, form: &ValueFormat) -> Result<Value, FlagError> {
    let wrong = |what: &str| FlagError(format!("{key} is `{text}`; expected {what}"));
    let number = |what| text.parse::<u64>().map_err(|_| wrong(what));
    Ok(match form {
        ValueFormat::Boolean => Value::Boolean(text.parse().map_err(|_| wrong("true or false"))?),
        ValueFormat::Number { .. } => Value::Integer(text.parse().map_err(|_| wrong("a number"))?),
        ValueFormat::Octets { .. } => Value::Octets(number("octets, without a unit")?),
        ValueFormat::Rate { .. } => Value::Rate(number("bits per second, without a unit")?),
        // Parts of 10^12.
        ValueFormat::Share => {
            Value::Share(time(text).ok_or_else(|| wrong("a part of one, such as 0.5"))?.as_nanos().saturating_mul(1000))
        }
        ValueFormat::Time { .. } => Value::Duration(time(text).ok_or_else(|| wrong(SECONDS))?),
        ValueFormat::Word(_) | ValueFormat::Text(_) => Value::from(text),
        ValueFormat::List(_) => Value::List(text.split('+').map(Value::from).collect()),
    })
}
