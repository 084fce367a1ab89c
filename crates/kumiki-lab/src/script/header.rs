//! What stands above the rule of a script: the settings of the stack, and what the same is on Linux.
//!
//! ```toml
//! ip = 4                                    # the version, 4 or 6
//! mtu = 1500                                # of the link, in octets
//! peer_isn = 1000000                        # the first sequence number of the peer, plus the connection's number
//!
//! [tcp]                                     # as in docs/settings.md
//! sack = false
//!
//! [linux]                                   # or: linux = "no: why it does not apply there"
//! sysctl = { "net.ipv4.tcp_frto" = 0 }      # beside those that follow from [tcp]
//! same = ["delayed_ack"]                    # settings of [tcp] for which nothing need be done there
//! window = true                             # windows and shift counts are compared too
//! push = true                               # where the PSH flag stands is compared
//! quick_acks = true                         # it may acknowledge sooner than a line says
//! tolerance = "100 ms"
//! ```

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use serde::Deserialize;

use super::cursor::Fault;

/// The settings of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// Whether packets are those of IPv6.
    pub v6: bool,
    /// The link's, in octets.
    pub mtu: u16,
    /// The peer's initial sequence number, less the number of the connection.
    pub peer_isn: u32,
    /// TCP's settings.
    pub tcp: toml::Table,
    /// What becomes of it against Linux.
    pub linux: Linux,
}

/// What a script is against Linux.
#[derive(Clone, PartialEq, Debug)]
pub enum Linux {
    /// Nothing, and why.
    No(String),
    /// The same script, with these settings.
    Yes(Same),
}

/// How Linux is set to do the same.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Same {
    /// Kernel settings by name.
    pub sysctl: BTreeMap<String, toml::Value>,
    /// TCP settings for which nothing has to be done.
    pub same: Vec<String>,
    /// Whether windows and window scales are compared.
    pub window: bool,
    /// Whether PSH must stand where it stands in the script; Linux has rules of its own for long writes.
    pub push: bool,
    /// Whether it may acknowledge sooner than a line says, and more often: Linux does at the beginning of a connection.
    pub quick_acks: bool,
    /// How much later or earlier something may happen.
    pub tolerance: String,
}

impl Default for Same {
    fn default() -> Self {
        Self {
            sysctl: BTreeMap::new(),
            same: Vec::new(),
            window: false,
            push: false,
            quick_acks: false,
            tolerance: "100 ms".to_owned(),
        }
    }
}

impl Same {
    /// The tolerance.
    #[must_use]
    pub fn tolerance(&self) -> Duration {
        // It was read when the header was.
        span(&self.tolerance).unwrap_or(Duration::from_millis(100))
    }
}

fn span(text: &str) -> Result<Duration, String> {
    crate::scenario::quantity::<Duration>(&["linux", "tolerance"], text)
        .map_err(|fault| fault.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default = "four")]
    ip: u8,
    #[serde(default = "mtu")]
    mtu: u16,
    #[serde(default = "peer_isn")]
    peer_isn: u32,
    #[serde(default)]
    tcp: toml::Table,
    #[serde(default)]
    linux: Option<toml::Value>,
}

const fn four() -> u8 {
    4
}

const fn mtu() -> u16 {
    1500
}

const fn peer_isn() -> u32 {
    1_000_000
}

impl Default for Header {
    fn default() -> Self {
        Self {
            v6: false,
            mtu: mtu(),
            peer_isn: peer_isn(),
            tcp: toml::Table::new(),
            linux: Linux::Yes(Same::default()),
        }
    }
}

impl Header {
    /// Reads it.
    pub(super) fn read(text: &str) -> Result<Self, (usize, Fault)> {
        let raw: Raw = toml::from_str(text).map_err(|why| {
            let before = why
                .span()
                .and_then(|span| text.get(..span.start))
                .unwrap_or_default();
            let line = before.matches('\n').count();
            let column = before
                .rsplit('\n')
                .next()
                .map_or(0, |it| it.chars().count());
            (
                line + 1,
                fault(column, why.message(), "see docs/scripts.md"),
            )
        })?;
        let line_of = |key: &str| {
            let found = text
                .lines()
                .position(|line| line.trim_start().trim_start_matches('[').starts_with(key));
            found.map_or(1, |line| line + 1)
        };
        if raw.ip != 4 && raw.ip != 6 {
            let what = format!("there is no version {} of IP here", raw.ip);
            return Err((line_of("ip"), fault(0, &what, "4 or 6")));
        }
        let least = if raw.ip == 4 { 68 } else { 1280 };
        if raw.mtu < least {
            let expected = format!("at least {least}");
            return Err((line_of("mtu"), fault(0, "the MTU is too small", &expected)));
        }
        let linux = match raw.linux {
            None => Linux::Yes(Same::default()),
            Some(toml::Value::String(text)) => match text.strip_prefix("no: ") {
                Some(why) if !why.trim().is_empty() => Linux::No(why.to_owned()),
                _ => {
                    let expected = "\"no: \" and the reason, or a table";
                    return Err((line_of("linux"), fault(0, "that says nothing", expected)));
                }
            },
            Some(table) => {
                let same: Same = table.try_into().map_err(|why: toml::de::Error| {
                    (
                        line_of("linux"),
                        fault(0, why.message(), "see docs/scripts.md"),
                    )
                })?;
                span(&same.tolerance)
                    .map_err(|why| (line_of("tolerance"), fault(0, &why, "\"100 ms\"")))?;
                Linux::Yes(same)
            }
        };
        Ok(Self {
            v6: raw.ip == 6,
            mtu: raw.mtu,
            peer_isn: raw.peer_isn,
            tcp: raw.tcp,
            linux,
        })
    }

    /// Linux's kernel settings that make it do what [`Header::tcp`] says, by name under `/proc/sys` with dots.
    ///
    /// # Errors
    /// Names a setting of which nothing is said of what the same is there.
    pub fn sysctls(&self, same: &Same) -> Result<Vec<(String, String)>, String> {
        let mut all = Vec::new();
        for (key, value) in &self.tcp {
            if same.same.contains(key) {
                continue;
            }
            let pair = same_setting(key, value).ok_or_else(|| {
                format!(
                    "what tcp.{key} is on Linux is not known; set it in [linux] sysctl and name it in [linux] same, or say linux = \"no: ...\""
                )
            })?;
            all.push((pair.0.to_owned(), pair.1.to_owned()));
        }
        for (name, value) in &same.sysctl {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                other @ (toml::Value::Integer(_)
                | toml::Value::Float(_)
                | toml::Value::Boolean(_)
                | toml::Value::Datetime(_)
                | toml::Value::Array(_)
                | toml::Value::Table(_)) => other.to_string(),
            };
            all.push((name.clone(), text));
        }
        Ok(all)
    }
}

/// The kernel's setting for one of ours.
fn same_setting(key: &str, value: &toml::Value) -> Option<(&'static str, &'static str)> {
    let switch = |name, on, off| {
        value
            .as_bool()
            .map(|set| (name, if set { on } else { off }))
    };
    match (key, value.as_str()) {
        ("timestamps", _) => switch("net.ipv4.tcp_timestamps", "1", "0"),
        ("window_scaling", _) => switch("net.ipv4.tcp_window_scaling", "1", "0"),
        ("sack", _) => switch("net.ipv4.tcp_sack", "1", "0"),
        ("f_rto", _) => switch("net.ipv4.tcp_frto", "2", "0"),
        ("tail_loss_probe", _) => switch("net.ipv4.tcp_early_retrans", "3", "0"),
        ("slow_start_after_idle", _) => switch("net.ipv4.tcp_slow_start_after_idle", "1", "0"),
        ("congestion", Some("cubic")) => Some(("net.ipv4.tcp_congestion_control", "cubic")),
        ("congestion", Some("newreno")) => Some(("net.ipv4.tcp_congestion_control", "reno")),
        ("loss_detection", Some("rack")) => Some(("net.ipv4.tcp_recovery", "1")),
        ("loss_detection", Some("sack")) => Some(("net.ipv4.tcp_recovery", "0")),
        _ => None,
    }
}

fn fault(at: usize, what: &str, expected: &str) -> Fault {
    Fault {
        at,
        what: what.to_owned(),
        expected: expected.to_owned(),
    }
}
