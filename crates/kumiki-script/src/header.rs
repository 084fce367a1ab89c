//! What stands above the rule of a script: the settings of the stack, and what the same is on Linux.
//!
//! ```toml
//! ip = 4                                    # the version, 4 or 6
//! mtu = 1500                                # of the link, in octets
//! peer_isn = 1000000                        # the first sequence number of the peer, plus the connection's number
//! paths = true                              # units may go through layers without a stop: all is the same with and without
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
//! resets = false                            # it sends no RST
//! tolerance = "100 ms"
//! ```

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::virtual_time::Virtual;
use kumiki_config::ConfigError;
use kumiki_config::error::quantity;
use kumiki_config::tree::{Entry, Node, Origin, Source, Value};
use kumiki_lab::scenario::ScenarioKeys;

/// The settings of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// Whether packets are those of IPv6.
    pub v6: bool,
    /// The link's, in octets.
    pub mtu: u16,
    /// The peer's initial sequence number, less the number of the connection.
    pub peer_isn: u32,
    /// Whether units may take paths through the layers of our stack.
    pub paths: bool,
    /// TCP's settings.
    pub tcp: toml::Table,
    /// What becomes of it against Linux.
    pub linux: Linux,
    /// The lines in which the settings of `[tcp]` and the kernel's stand, from 1, by name.
    lines: BTreeMap<String, usize>,
}

/// What a script is against Linux.
#[derive(Clone, PartialEq, Debug)]
pub enum Linux {
    /// Nothing, and why.
    No(String),
    /// The same script, with these settings.
    Yes(LinuxTerms),
}

/// How Linux is set to do the same.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinuxTerms {
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
    /// Whether it sends the RSTs of the script: it sends none where it gives up waiting for an acknowledgment.
    pub resets: bool,
    /// How much later or earlier something may happen.
    pub tolerance: String,
}

impl Default for LinuxTerms {
    fn default() -> Self {
        Self {
            sysctl: BTreeMap::new(),
            same: Vec::new(),
            window: false,
            push: false,
            quick_acks: false,
            resets: true,
            tolerance: "100 ms".to_owned(),
        }
    }
}

impl LinuxTerms {
    /// The tolerance.
    #[must_use]
    pub fn tolerance(&self) -> Duration {
        // It was read when the header was.
        span(&self.tolerance).unwrap_or(Duration::from_millis(100))
    }
}

fn span(text: &str) -> Result<Duration, ConfigError> {
    quantity(&["linux", "tolerance"], text)
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
    #[serde(default = "paths")]
    paths: bool,
    #[serde(default)]
    tcp: toml::Table,
    /// Read by itself.
    #[serde(default)]
    #[expect(dead_code, reason = "its name is known by it")]
    linux: Option<IgnoredAny>,
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

const fn paths() -> bool {
    true
}

impl Default for Header {
    fn default() -> Self {
        Self {
            v6: false,
            mtu: mtu(),
            peer_isn: peer_isn(),
            paths: paths(),
            tcp: toml::Table::new(),
            linux: Linux::Yes(LinuxTerms::default()),
            lines: BTreeMap::new(),
        }
    }
}

impl Header {
    /// Reads it, and tries its settings on a stack.
    ///
    /// # Errors
    /// What is wrong, at its line of `file`.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, ConfigError> {
        let root = Node::parse(text).map_err(|fault| fault.in_file(file))?;
        let source = Source { keys: &ScenarioKeys, ..Source::new(file, &root) };
        let header = Self::of(&root, &source).map_err(|fault| source.locate(fault))?;
        Virtual::new(&header).map_err(|fault| source.locate(fault))?;
        Ok(header)
    }

    fn of(root: &Node, source: &Source<'_>) -> Result<Self, ConfigError> {
        let raw: Raw = source.read(root, &[])?;
        if raw.ip != 4 && raw.ip != 6 {
            let fault = ConfigError::at(["ip"], "there is no such version of IP here");
            return Err(fault.expected("4 or 6"));
        }
        let least = if raw.ip == 4 { 68 } else { 1280 };
        if raw.mtu < least {
            let fault = ConfigError::at(["mtu"], "the MTU is too small");
            return Err(fault.expected(format!("at least {least}")));
        }
        let linux = match root.child("linux") {
            None => Linux::Yes(LinuxTerms::default()),
            Some(Node { value: Value::Text(text), .. }) => {
                let why = text.strip_prefix("no: ").unwrap_or_default().trim();
                if why.is_empty() {
                    let fault = ConfigError::at(["linux"], "that says nothing");
                    return Err(fault.expected("\"no: \" and the reason, or a table"));
                }
                Linux::No(why.to_owned())
            }
            Some(table) => {
                let same: LinuxTerms = source.read(table, &["linux"])?;
                span(&same.tolerance)?;
                Linux::Yes(same)
            }
        };
        let entries = |node: Option<&Node>| {
            let entries = node.map(Node::entries).unwrap_or_default().iter();
            let known = entries.filter_map(|entry: &Entry| match entry.place() {
                Origin::Line(line, _) => Some((entry.key.clone(), line)),
                Origin::Set(_) => None,
            });
            known.collect::<Vec<_>>()
        };
        let kernel = root.child("linux").and_then(|linux| linux.child("sysctl"));
        let mut lines = entries(root.child("tcp"));
        lines.extend(entries(kernel));
        Ok(Self {
            v6: raw.ip == 6,
            mtu: raw.mtu,
            peer_isn: raw.peer_isn,
            paths: raw.paths,
            tcp: raw.tcp,
            linux,
            lines: lines.into_iter().collect(),
        })
    }

    /// `what`, which is wrong with the setting `name`, behind its line.
    pub(super) fn at_line(&self, name: &str, what: &str) -> String {
        match self.lines.get(name) {
            Some(line) => format!("line {line}: {what}"),
            None => what.to_owned(),
        }
    }

    fn unknown(&self, key: &str) -> String {
        let what = format!(
            "what tcp.{key} is on Linux is not known; set it in [linux] sysctl and name it in [linux] same, or say linux = \"no: ...\""
        );
        self.at_line(key, &what)
    }

    /// The congestion control that makes a socket of Linux's do what [`Header::tcp`] says; where that says nothing,
    /// what ours has then. As a kernel setting it would not do: a network namespace is refused what the kernel has not
    /// marked as harmless.
    ///
    /// # Errors
    /// It is not known what that is there.
    pub fn controller(&self) -> Result<&'static str, String> {
        let said = self.tcp.get(CONGESTION).map(toml::Value::as_str);
        match said.unwrap_or(Some("cubic")) {
            Some("cubic") => Ok("cubic"),
            Some("newreno") => Ok("reno"),
            _ => Err(self.unknown(CONGESTION)),
        }
    }

    /// Linux's kernel settings that make it do what [`Header::tcp`] says, by name under `/proc/sys` with dots.
    ///
    /// # Errors
    /// Names a setting of which nothing is said of what the same is there.
    pub fn sysctls(&self, same: &LinuxTerms) -> Result<Vec<(String, String)>, String> {
        let mut all = Vec::new();
        for (key, value) in &self.tcp {
            if key == CONGESTION || same.same.contains(key) {
                continue;
            }
            let pair = same_setting(key, value).ok_or_else(|| self.unknown(key))?;
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

/// The setting that a socket has by itself there.
const CONGESTION: &str = "congestion";

/// The kernel's setting for one of ours.
fn same_setting(key: &str, value: &toml::Value) -> Option<(&'static str, &'static str)> {
    let switch = |name, on, off| value.as_bool().map(|set| (name, if set { on } else { off }));
    match (key, value.as_str()) {
        ("timestamps", _) => switch("net.ipv4.tcp_timestamps", "1", "0"),
        ("window_scaling", _) => switch("net.ipv4.tcp_window_scaling", "1", "0"),
        ("sack", _) => switch("net.ipv4.tcp_sack", "1", "0"),
        ("f_rto", _) => switch("net.ipv4.tcp_frto", "2", "0"),
        ("tail_loss_probe", _) => switch("net.ipv4.tcp_early_retrans", "3", "0"),
        ("slow_start_after_idle", _) => switch("net.ipv4.tcp_slow_start_after_idle", "1", "0"),
        ("ecn", Some("off")) => Some(("net.ipv4.tcp_ecn", "0")),
        ("ecn", Some("classic")) => Some(("net.ipv4.tcp_ecn", "1")),
        ("loss_detection", Some("rack")) => Some(("net.ipv4.tcp_recovery", "1")),
        ("loss_detection", Some("sack")) => Some(("net.ipv4.tcp_recovery", "0")),
        _ => None,
    }
}
