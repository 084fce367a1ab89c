//! One run of `kumiki link`, in a process of its own, so that its time is nobody else's.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use kumiki_emulate::Config;
use kumiki_graph::Duration;
use serde_json::{Value, json};

use super::peer::{PeerAction, Server};
use crate::load::cpu_s;

/// As the process is started.
#[derive(Args, Debug)]
pub(crate) struct Parameters {
    /// What both directions are like
    #[arg(long, default_value = "")]
    path: String,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    port: u16,
    #[arg(long)]
    act: PeerAction,
    #[arg(long)]
    octets: Vec<u64>,
}

/// The process itself.
pub(crate) fn be(parameters: &Parameters) -> Result<(), String> {
    let itself = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
    let mut program: Vec<OsString> = vec![itself.into()];
    program.extend(["link-peer", "--act", parameters.act.word()].map(OsString::from));
    program.extend(["--port".to_owned(), parameters.port.to_string()].map(OsString::from));
    for octets in &parameters.octets {
        program.extend(["--octets".to_owned(), octets.to_string()].map(OsString::from));
    }
    let set = set(&parameters.path)?;
    let config = Config {
        program,
        proxy: None,
        set,
        schedule: Vec::new(),
        traces: [None, None],
        seed: parameters.seed,
        memory: kumiki_delay::MOST_MEMORY,
        gateway_memory: 1 << 30,
        mtu: 1500,
        control: None,
        pcap: None,
        snaplen: 0,
        report: None,
        loopback: true,
        keep_resolver: false,
        linger: Duration::from_secs(10),
        stats: true,
    };
    let told = Arc::new(Mutex::new(String::new()));
    let listening = Arc::clone(&told);
    let status = kumiki_emulate::run(&config, move |text| {
        let mut told = listening.lock().unwrap_or_else(PoisonError::into_inner);
        told.push_str(text);
        told.push('\n');
    })
    .map_err(|why| why.to_string())?;
    let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if status != 0 {
        return Err(format!("the program: {status}; {told}"));
    }
    println!("{}", json!({ "cpu_s": cpu_s(), "told": told }));
    Ok(())
}

/// Settings of both directions; none where nothing is said.
pub(super) fn set(path: &str) -> Result<Vec<kumiki_delay::Command>, String> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![kumiki_delay::Command::parse(&format!("both {path}"))?])
}

/// What came of a run.
pub(super) struct Run {
    /// Of each transfer.
    pub(super) seconds: Vec<f64>,
    pub(super) cpu_s: f64,
    told: String,
}

impl Run {
    /// Mean, 99th percentile and most by which packets were late that carried the load, in ms.
    pub(super) fn late_ms(&self, act: PeerAction) -> Result<[f64; 3], String> {
        let way = match act {
            PeerAction::Fetch => "down",
            PeerAction::Send => "up",
        };
        let mut lines = self.told.lines().skip_while(|line| !line.starts_with(&format!("{way} ")));
        let late = lines.find_map(|line| line.trim().strip_prefix("late"));
        let words: Vec<&str> = late.unwrap_or_default().split_whitespace().collect();
        let figure = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse().ok()
        };
        let figures = || Some([figure("mean")?, figure("p99")?, figure("max")?]);
        figures().ok_or_else(|| format!("nothing is said of lateness: {}", self.told))
    }
}

/// Runs it: so many octets in each transfer, one after the other.
pub(super) fn run(path: &str, seed: u64, server: &Server, act: PeerAction, octets: &[u64]) -> Result<Run, String> {
    let (seed, port) = (seed.to_string(), server.port.to_string());
    let octets: Vec<String> = octets.iter().map(u64::to_string).collect();
    let mut arguments = vec!["link-one", "--path", path, "--seed", &seed, "--port", &port, "--act", act.word()];
    for octets in &octets {
        arguments.extend(["--octets", octets]);
    }
    let (seconds, rest) = super::said(&super::itself(&arguments)?);
    let rest = rest.ok_or("the path said nothing")?;
    let told = rest.get("told").and_then(Value::as_str).unwrap_or_default().to_owned();
    let cpu_s = rest.get("cpu_s").and_then(Value::as_f64).unwrap_or(f64::NAN);
    Ok(Run { seconds, cpu_s, told })
}
