//! Hosts that are real: what stands in their place, in runs in real time.

use std::fmt;

use kumiki_graph::Duration;
use kumiki_settings::Keys;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Scenario;
use crate::topology::place;
use kumiki_config::error::{ConfigError, quantity};

/// Who a real host is: one of `run`, `tun`, `tap`, `frames`, `serial` and `gateway`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Real {
    /// A program, which gets a network of its own with the host's addresses: a line for the shell, or the program and
    /// its arguments.
    #[key(is = "a text, or a list of texts", default = "none", example = "\"curl -s http://server:8000\"")]
    pub run: Option<HostProgram>,
    /// How long after the beginning the program begins.
    #[key(is = "a time", default = "0 s", example = "\"1 s\"")]
    pub start: Option<String>,
    /// Whether it is waited for: a program in the background, such as a server, is ended when all others have.
    #[serde(default)]
    #[key(is = "true or false", default = "false", example = "true")]
    pub background: bool,
    /// A network interface of this machine: its kernel is the host.
    #[key(is = "a name of at most 15 characters", default = "none", example = "\"k0\"")]
    pub tun: Option<String>,
    /// A network interface of this machine that carries Ethernet: its kernel is the host from the frames up, as it
    /// would be with a card on the line.
    #[key(is = "a name of at most 15 characters", default = "none", example = "\"k0\"")]
    pub tap: Option<String>,
    /// A Unix socket on which frames of Ethernet cross, as virtual machines have them: who is there is the host from
    /// the frames up. `listen:PATH` and `unix:PATH` are streams (QEMU's `-netdev stream`), `datagrams:PATH` takes a
    /// frame in each.
    #[key(is = "a socket", default = "none", example = "\"listen:/run/user/1000/vm\"")]
    pub frames: Option<String>,
    /// A serial line, with the words of `kumiki ppp`: who speaks PPP there is given the host's address, and is the
    /// host.
    #[key(is = "a line", default = "none", example = "\"tty:/dev/pts/3\"")]
    pub serial: Option<String>,
    /// This machine's sockets: the host stands for the world, and what others call there this machine calls for them.
    #[serde(default)]
    #[key(is = "true or false", default = "false", example = "true")]
    pub gateway: bool,
}

/// How a program is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostProgram {
    /// A line for the shell.
    Line(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

impl<'de> Deserialize<'de> for HostProgram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HostProgramVisitor)
    }
}

struct HostProgramVisitor;

impl<'de> Visitor<'de> for HostProgramVisitor {
    type Value = HostProgram;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line for the shell, or a list of a program and its arguments")
    }

    fn visit_str<E>(self, line: &str) -> Result<HostProgram, E> {
        Ok(HostProgram::Line(line.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<HostProgram, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = list.next_element()? {
            words.push(word);
        }
        Ok(HostProgram::Words(words))
    }
}

impl HostProgram {
    /// The program and its arguments.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Line(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Self::Words(words) => words.clone(),
        }
    }

    /// As a person would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => words.join(" "),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Line(line) => line.trim().is_empty(),
            Self::Words(words) => words.first().is_none_or(String::is_empty),
        }
    }
}

impl Real {
    /// What cannot be, said with a path that begins at its keys.
    fn check(&self) -> Result<(), ConfigError> {
        let Self { run, tun, tap, frames, serial, gateway, .. } = self;
        let given = [run.is_some(), tun.is_some(), tap.is_some(), frames.is_some(), serial.is_some(), *gateway];
        let given = given.into_iter().filter(|it| *it).count();
        if given != 1 {
            let problem = if given == 0 { "no kind of host" } else { "more than one" };
            return Err(ConfigError::new(problem).expected("one of run, tun, tap, frames, serial and gateway"));
        }
        if self.run.as_ref().is_some_and(HostProgram::is_empty) {
            return Err(
                ConfigError::at(["run"], "no program").expected("a line for the shell, or a program and its arguments")
            );
        }
        if self.run.is_none() && (self.start.is_some() || self.background) {
            let key = if self.background { "background" } else { "start" };
            return Err(ConfigError::at([key], "there is no program").expected("run beside it"));
        }
        self.start().map(drop)
    }

    /// Who is there, in a few words.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { run, tun, tap, frames, serial, .. } = self;
        if let Some(program) = run {
            return format!("real: {}", program.shown());
        }
        if let Some(interface) = tun.as_ref().or(tap.as_ref()) {
            return format!("real: this machine's {interface}");
        }
        if let Some(socket) = frames {
            return format!("real: Ethernet at {socket}");
        }
        serial.as_ref().map_or_else(|| "real: a gateway".to_owned(), |line| format!("real: PPP at {line}"))
    }

    /// Whether it is real from the frames of Ethernet up, and nothing of it is emulated.
    #[must_use]
    pub const fn is_ethernet(&self) -> bool {
        self.tap.is_some() || self.frames.is_some()
    }

    /// When the program begins.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys.
    pub fn start(&self) -> Result<Duration, ConfigError> {
        self.start.as_ref().map_or(Ok(Duration::ZERO), |text| quantity(&["start"], text))
    }
}

impl Scenario {
    /// The names of the hosts that are real.
    pub fn real_hosts(&self) -> impl Iterator<Item = &str> + Clone {
        self.host.iter().filter(|(_, host)| host.real.is_some()).map(|(name, _)| name.as_str())
    }

    /// Who speaks with whom: the hosts and nodes of loads, and real hosts each with each, of whom nobody knows.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let real = self.real_hosts();
        let among = real.clone().enumerate().flat_map(move |(number, one)| {
            let others = real.clone().skip(number.saturating_add(1));
            others.map(move |other| (one, other))
        });
        self.load.values().flat_map(super::Workload::pairs).chain(among)
    }

    /// Takes out the loads that write or read at real hosts, whose own programs run there.
    pub(crate) fn without_loads_of_real_hosts(&self) -> (Self, Vec<(String, super::Workload)>) {
        let mut rest = self.clone();
        let is_real = |node: &String| self.host.get(place(node)).is_some_and(|it| it.real.is_some());
        let taken = rest.load.extract_if(.., |_, load| load.from.0.iter().chain(&load.to.0).any(is_real));
        let taken = taken.collect();
        (rest, taken)
    }
}

/// What a scenario need not say where a host is real: how long it is run. Where nobody writes either, programs are
/// named when it is run in real time.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), ConfigError> {
    if scenario.run.duration.is_empty() {
        if scenario.real_hosts().next().is_none() && !scenario.load.is_empty() {
            return Err(ConfigError::at(["run"], "the key \"duration\" is missing")
                .expected("a time such as \"5 s\", or a host that is real"));
        }
        A_DAY.clone_into(&mut scenario.run.duration);
    }
    Ok(())
}

/// What is run in real time, where nothing is measured, is run until it ends; loads know no longer time than this.
const A_DAY: &str = "24 h";

/// Real hosts are somebody.
pub(super) fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    for (name, host) in &scenario.host {
        if let Some(real) = &host.real {
            real.check().map_err(|fault| fault.under(&["host", name, "real"]))?;
        }
    }
    Ok(())
}
