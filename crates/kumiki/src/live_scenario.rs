//! `kumiki live`: from the command line to [`kumiki_emulate::live`].

use std::path::PathBuf;

use clap::Args;
use kumiki_emulate::live::{LiveCommand, LiveConfig, LiveEnd, lines, run_live};
use kumiki_lab::experiment::LiveWorld;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::scenario::First;
use kumiki_live::Duration;

use crate::cli::{Scenario, Snap};
use crate::commands::{Stop, first_point, lines_shown, say_point};
use crate::delay::LinesOptions;
use crate::link::{GatewayOptions, programs_have_the_output};
use crate::live::{option, some_time};

/// The status of a run whose time was up, as `timeout` has it.
const TIME_UP: u8 = 124;

fn examples() -> String {
    format!("{EXAMPLES}\n\nLines, for --at, --schedule and --control:\n\n{}", lines::lines_help())
}

const EXAMPLES: &str = "Examples, where bottleneck.toml has hosts `client` and `server`:

  kumiki live bottleneck.toml --run server='python3 -m http.server 80' --background server --run client='sleep 1; curl http://server/'
  kumiki live bottleneck.toml --run server='iperf3 -s -1' --run client='sleep 1; iperf3 -c server' --stats
  kumiki live bottleneck.toml --set link.wan.rate='5 Mb/s'        programs as the file has them
  kumiki live bottleneck.toml --set host.server.real.tun=k0       this machine is the server
  kumiki live bottleneck.toml --at 10s 'wan rate 1Mb/s' --at 20s 'wan toward client loss 2%' --pcap wan.pcapng

Programs reach the other hosts by their names. Each has a network of its own; what it writes, and the files that it sees, are those of this machine.

Exit status: 0 where all programs that are waited for ended with 0, else the first other one, by the names of hosts; 124 where the time was up, 128 and its number where a signal ended it, 125 where kumiki has failed, 2 where the command line or the file is wrong.";

/// `kumiki live`.
#[derive(Args, Debug)]
#[command(after_help = examples())]
pub(crate) struct LiveArgs {
    #[command(flatten)]
    scenario: Scenario,
    /// Run this at the host, by the shell; may be given several times
    #[arg(long, value_name = "HOST=COMMAND")]
    run: Vec<String>,
    /// The program of this host is not waited for, and ended when the others have ended; may be given several times
    #[arg(long, value_name = "HOST")]
    background: Vec<String>,
    /// Give the program of this host the terminal: what is typed, and Ctrl-C
    #[arg(long, value_name = "HOST")]
    attach: Option<String>,
    /// End it after so long; `duration` of the file's `[run]` is of runs in virtual time, and means nothing here
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Fixes what is random; `seed` of the file's `[run]` unless given
    #[arg(long)]
    seed: Option<u64>,
    /// How long what programs have written may take to arrive, when those that are waited for have ended; 0s: it is
    /// lost
    #[arg(long, value_name = "TIME", default_value = "10s")]
    linger: String,
    #[command(flatten)]
    lines: LinesOptions,
    /// Write what crosses between the network and each real host to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
    /// Say on standard error what has crossed and how late it was, at the end
    #[arg(long)]
    stats: bool,
    /// Leave /etc/hosts to the programs as it is: without this it names the hosts of the scenario
    #[arg(long)]
    keep_hosts: bool,
    #[command(flatten)]
    gateway: GatewayOptions,
}

/// Whether a program runs at `host`, to which the terminal can be given.
///
/// # Errors
/// Where programs run.
fn check_attached(host: &str, world: &LiveWorld) -> Result<(), String> {
    let programs = world.real().iter().filter(|it| it.real.run.is_some());
    let hosts: Vec<&str> = programs.map(|it| it.name.as_str()).collect();
    if hosts.contains(&host) {
        return Ok(());
    }
    let known = if hosts.is_empty() {
        format!("name one with --run {host}=COMMAND")
    } else {
        format!("programs run at: {}", hosts.join(", "))
    };
    Err(format!("--attach {host}: no program runs at that host; {known}"))
}

/// What is said of a `--set` that nobody has given, of the option that stands for it.
fn by_option(why: Stop, file: &str, (run, background): (&[String], &[String])) -> Stop {
    let Stop::Input(told) = why else {
        return why;
    };
    let of_run = run.iter().filter_map(|command| {
        let (host, _) = command.split_once('=')?;
        Some((format!("--set host.{}.real.run=", host.trim()), format!("--run {command}")))
    });
    let of_background =
        background.iter().map(|host| (format!("--set host.{host}.real.background="), format!("--background {host}")));
    let is_it = |(set, _): &(String, String)| told.starts_with(set.as_str());
    let found = of_run.chain(of_background).find(is_it);
    let behind = format!(" ({file}): ");
    Stop::Input(match found.and_then(|(_, option)| Some((option, told.split_once(&behind)?.1))) {
        Some((option, rest)) => format!("{option}{behind}{rest}"),
        None => told,
    })
}

pub(crate) fn run(args: &LiveArgs) -> Result<(), Stop> {
    programs_have_the_output(args.pcap.as_deref())?;
    let mut set = args.scenario.set.clone();
    for command in &args.run {
        let Some((host, line)) = command.split_once('=') else {
            return Err(Stop::Input(format!(
                "--run {command}: no \"=\"; write HOST=COMMAND, as in client='ping -c 3 server'"
            )));
        };
        // Whatever it looks like, it is a text.
        set.push(format!("host.{}.real.run={}", host.trim(), serde_json::Value::from(line.trim_start())));
    }
    set.extend(args.background.iter().map(|host| format!("host.{host}.real.background=true")));
    set.extend(args.seed.iter().map(|seed| format!("run.seed={seed}")));
    let most: Option<Duration> = args.time.as_ref().map(|time| some_time("--time", time)).transpose()?;
    let scenario = Scenario { name: args.scenario.name.clone(), set };
    let file = scenario.name.clone();
    let First { point, told } = first_point(scenario, |point| Laboratory::live(point).map(drop))
        .map_err(|why| by_option(why, &file, (&args.run, &args.background)))?;
    say_point(told.as_deref());
    let world = Laboratory::live(&point).map_err(|fault| point.locate(fault))?;
    if world.real().is_empty() {
        let why = "no host is real; name one with --run HOST=COMMAND, or with [host.NAME.real] in the file";
        return Err(Stop::Input(format!("{}: {why}", point.file())));
    }
    if let Some(host) = &args.attach {
        check_attached(host, &world).map_err(Stop::Input)?;
    }
    let schedule = args.lines.schedule(LiveCommand::parse_timed)?;
    lines::judge(&world, &schedule).map_err(Stop::Input)?;
    let say = |text: &str| {
        for line in text.lines() {
            tell!("kumiki: {}", lines_shown(line));
        }
    };
    let config = LiveConfig {
        world,
        most,
        attached: args.attach.clone(),
        keep_hosts: args.keep_hosts,
        loopback: args.gateway.loopback(),
        gateway_memory: args.gateway.memory()?,
        schedule,
        control: args.lines.control.clone(),
        linger: option("--linger", &args.linger)?,
        pcap: args.pcap.clone(),
        snaplen: args.snap.length(),
        stats: args.stats,
    };
    let ended = run_live(config, say);
    let (status, why) = match ended {
        Ok(LiveEnd::Status(0)) => return Ok(()),
        Ok(LiveEnd::Status(status)) => (status, String::new()),
        Ok(LiveEnd::TimeUp) => (TIME_UP, "the time was up, and programs had not ended".to_owned()),
        Ok(LiveEnd::Signal(signal)) => (u8::try_from(128 + signal).unwrap_or(u8::MAX), String::new()),
        Ok(LiveEnd::Failed) => (kumiki_emulate::FAILED, String::new()),
        Err(why) if why.is_mistake() => return Err(Stop::Input(why.to_string())),
        Err(why) => (kumiki_emulate::FAILED, why.to_string()),
    };
    Err(Stop::Ended { status, why })
}
