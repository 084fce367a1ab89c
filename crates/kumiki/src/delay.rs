//! `kumiki delay`: from the command line to [`kumiki_delay`].

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kumiki_config::quantity::Octets;
use kumiki_delay::{Command, Config, End, HELP, Instant};
use kumiki_live::logbook::Logbook;
use kumiki_live::{Duration, OutputFormat};

use crate::commands::{Stop, print, unreadable};
use crate::live::option;

/// What stands below the options.
fn lines() -> String {
    format!(
        "Lines, for --set, --at, --schedule, --send and the standard input:\n\n{HELP}\n\nA quantity is one word or two: 50ms or 50 ms."
    )
}

/// `kumiki delay`.
#[derive(Args, Debug)]
#[command(after_help = lines())]
pub(crate) struct DelayArgs {
    /// One end: tun:NAME or tap:NAME, an interface that is made where there is none (behind it mtu=9000,
    /// addr=10.9.0.1/24 and up, with commas between, set the kernel's end), or udp:LOCAL or udp:LOCAL,REMOTE, a socket
    /// (addresses such as 5001, which is on the loopback interface, or 127.0.0.1:5001); without REMOTE whoever sends
    /// first is the peer
    #[arg(value_name = "A", required_unless_present = "send")]
    a: Option<End>,
    /// The other end
    #[arg(value_name = "B", required_unless_present = "send")]
    b: Option<End>,
    /// How it is at the beginning: a line such as 'both delay 50ms' or 'a>b rate 45Mb/s queue 100 packets'; may be
    /// given several times
    #[arg(long, value_name = "LINE")]
    set: Vec<String>,
    #[command(flatten)]
    lines: LinesOptions,
    /// Have the delay generator with this control socket, or `kumiki link` or `kumiki live`, carry out a line, print
    /// its answer, and end
    #[arg(
        long,
        num_args = 2,
        value_names = ["PATH", "LINE"],
        conflicts_with_all = ["a", "b", "set", "at", "schedule", "control", "for_", "json"]
    )]
    send: Option<Vec<String>>,
    /// Do not read lines from the standard input
    #[arg(long)]
    no_stdin: bool,
    /// Do not ask for a priority ahead of other programs; without this it is asked for, and given to root and to whom a
    /// limit for it was set (rtprio)
    #[arg(long)]
    ordinary_priority: bool,
    /// Sockets may be reached by, and send to, other machines
    #[arg(long)]
    beyond_loopback: bool,
    /// End after so long; without it at Ctrl-C or quit
    #[arg(long = "for", value_name = "TIME")]
    for_: Option<String>,
    /// Fixes what is random: the same units meet the same fates
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The most memory that units in flight may hold, in both directions together; what comes beyond is dropped, and
    /// counted as `no room for`
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: String,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    sandbox: crate::sandbox::SandboxOptions,
}

pub(crate) fn run(args: &DelayArgs) -> Result<(), Stop> {
    if let Some([path, line]) = args.send.as_deref() {
        // What is a line there whoever listens knows: it may be `kumiki live`.
        let answer = kumiki_delay::send(Path::new(path), line).map_err(|error| {
            let why = format!("--send {error}");
            if error.is_mistake { Stop::Input(why) } else { Stop::Failed(why) }
        })?;
        return print(&answer);
    }
    let form = if args.json { OutputFormat::Json } else { OutputFormat::Text };
    let log = Arc::new(Logbook::standard(form));
    kumiki_delay::run(config(args)?, move |text| log.tell(text))?;
    Ok(())
}

fn config(args: &DelayArgs) -> Result<Config, Stop> {
    let (Some(a), Some(b)) = (args.a.clone(), args.b.clone()) else {
        return Err(Stop::Input("two ends are needed, such as udp:5001 udp:5002,127.0.0.1:5003".to_owned()));
    };
    if !args.beyond_loopback {
        for end in [&a, &b] {
            end.keep_to_loopback().map_err(Stop::Input)?;
        }
    }
    a.beside(&b).map_err(Stop::Input)?;
    let set = args.set.iter().map(|line| {
        let command = Command::parse(line).map_err(|why| Stop::Input(format!("--set: {why}")))?;
        if !matches!(command, Command::Set(..)) {
            return Err(Stop::Input(format!(
                "--set: `{line}` sets nothing; write a direction and settings, as in 'both delay 50ms'"
            )));
        }
        Ok(command)
    });
    let set = set.collect::<Result<_, _>>()?;
    let at_most: Option<Duration> = args.for_.as_deref().map(|text| option("--for", text)).transpose()?;
    Ok(Config {
        ends: [a, b],
        set,
        schedule: args.lines.schedule(Command::parse_timed)?,
        control: args.lines.control.clone(),
        at_most,
        seed: args.seed,
        memory: option::<Octets>("--memory", &args.memory)?.count(),
        form: if args.json { OutputFormat::Json } else { OutputFormat::Text },
        stdin: !args.no_stdin && may_read(),
        first: !args.ordinary_priority,
        #[cfg(target_os = "linux")]
        sandbox: args.sandbox.sandbox()?,
    })
}

/// Options by which lines are carried out while something runs.
#[derive(Args, Debug)]
pub(crate) struct LinesOptions {
    /// Carry out a line so long after the beginning; may be given several times
    #[arg(long, num_args = 2, value_names = ["TIME", "LINE"])]
    at: Vec<String>,
    /// The same from a file: on each line a time and a line, as --at has them
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
    /// Take lines on a Unix socket too, which is made here; `kumiki delay --send` sends them
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
}

impl LinesOptions {
    /// What `--at` and `--schedule` say, where `timed` reads their lines.
    pub(crate) fn schedule<C>(&self, timed: impl Fn(&str) -> ScheduleLine<C>) -> Result<Vec<(Instant, C)>, Stop> {
        let mut schedule = Vec::new();
        for pair in self.at.chunks_exact(2) {
            let at = timed(&pair.join(" "));
            schedule.extend(at.map_err(|why| Stop::Input(format!("--at: {why}")))?);
        }
        if let Some(path) = &self.schedule {
            let wrong = |why: &dyn core::fmt::Display| Stop::Input(format!("--schedule {}{why}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|why| unreadable("--schedule", path, &why))?;
            for (number, line) in text.lines().enumerate() {
                let at = timed(line);
                schedule.extend(at.map_err(|why| wrong(&format!(", line {}: {why}", number + 1)))?);
            }
        }
        Ok(schedule)
    }
}

/// A line of a schedule; `None` where nothing is in it.
type ScheduleLine<C> = Result<Option<(Instant, C)>, String>;

/// Whether the standard input is ours to read: a job in the background would be stopped for it.
fn may_read() -> bool {
    let stdin = std::io::stdin();
    !stdin.is_terminal() || kumiki_delay::control::is_in_foreground()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Result<DelayArgs, String> {
        use clap::Parser as _;
        // What stands between two bars is one argument.
        let words = text.split('|').enumerate().flat_map(|(part, text)| {
            if part % 2 == 1 { vec![text.to_owned()] } else { text.split_whitespace().map(str::to_owned).collect() }
        });
        let all = ["kumiki", "delay"].map(str::to_owned).into_iter().chain(words);
        match crate::cli::Cli::try_parse_from(all) {
            Ok(crate::cli::Cli { command: crate::cli::Command::Delay(args) }) => Ok(*args),
            Ok(_) => panic!("another command"),
            Err(why) => Err(why.to_string()),
        }
    }

    fn refused(text: &str) -> String {
        match args(text).map(|args| config(&args)) {
            Err(why) => why,
            Ok(Err(Stop::Input(why))) => why,
            Ok(_) => panic!("{text} is no mistake"),
        }
    }

    #[test]
    fn what_is_said_is_what_is_done() {
        let text = "udp:5001 udp:5002,5003 --for 3s --json --set |both delay 5ms| --at 2s |a>b loss 1%| --at 1s quit";
        let config = config(&args(text).unwrap()).unwrap();
        // The kernel gives each another one.
        let any = args("udp:0 udp:0").unwrap();
        assert!(super::config(&any).is_ok());
        assert_eq!(config.ends[1].to_string(), "udp:127.0.0.1:5002,127.0.0.1:5003");
        assert_eq!((config.set.len(), config.schedule.len()), (1, 2));
        assert_eq!(config.at_most, Some(Duration::from_secs(3)));
        assert_eq!(config.form, OutputFormat::Json);
    }

    #[test]
    fn mistakes_are_answered_with_what_would_be_right() {
        for (text, part) in [
            ("udp:5001", "<B>"),
            ("udp:5001 udp:5001", "both ends are the socket 127.0.0.1:5001; give each a port of its own"),
            ("udp:0.0.0.0:5001 udp:5001 --beyond-loopback", "give each a port of its own"),
            ("tun:d0 tap:d0", "both ends are the interface d0; give each a name of its own"),
            ("udp:5001 tun:averyveryverylongname", "`averyveryverylongname` can be no name of an interface"),
            ("udp:5001 eth0", "tun:NAME, tap:NAME or udp:PORT"),
            ("udp:5001 udp:10.0.0.1:5002", "--beyond-loopback"),
            ("udp:5001 udp:5002,0.0.0.0:5003", "--beyond-loopback"),
            ("udp:5001 udp:5002 --set |both dely 5ms|", "try delay"),
            ("udp:5001 udp:5002 --set stats", "sets nothing"),
            ("udp:5001 udp:5002 --at 5 |both delay 5ms|", "--at: "),
            (
                "udp:5001 udp:5002 --schedule /nowhere/at/all",
                "--schedule /nowhere/at/all: there is no directory /nowhere",
            ),
            ("udp:5001 udp:5002 --for ever", "--for"),
        ] {
            let said = refused(text);
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
