//! A delay generator: a box in real time between two devices of this machine, such as two TUN devices or two UDP
//! sockets.
//!
//! | | |
//! |---|---|
//! | Between the ends | in each direction a line with rate and queue, then loss, duplication, wrong bits, delay, jitter and reordering: the elements of `kumiki-link`, as in runs in virtual time |
//! | Changes | while it runs, by the same lines everywhere ([`Command`]): command line, schedule, standard input, control socket |
//! | Measured | for each unit when it came, when it was to leave, and when the other end had taken it ([`statistics`]) |
//! | Left out | more than two ends, several flows with settings of their own, what the kernel's queue of a device has dropped before it could be read |
//!
//! There is no graph here, and the executor of `kumiki-io` is not used: it takes in what came at the time of its pass,
//! hides its media once they run, and settles tasks that a box does not have. What is left is a loop of a few lines
//! ([`engine`]): read both devices, run the elements up to now, write what left. Each unit is offered at the time at
//! which the kernel had it, and elements are polled at their own deadlines, so that a late pass makes one unit late and
//! shifts none behind it. All that decides ([`path`], [`command`], [`settings`]) has no clock and is tested in virtual
//! time.

use std::io;
use std::path::PathBuf;

use kumiki_graph::Duration;
use kumiki_io::{Clock as _, RealClock, RealDevice, ShutdownRequest};
use serde_json::json;

use kumiki_config::ConfigError;
#[cfg(target_os = "linux")]
use kumiki_live::sandbox;
use kumiki_live::{LiveError, OutputFormat, system};

pub mod command;
pub mod command_requests;
pub mod control;
pub mod ends;
pub mod engine;
pub mod path;
pub mod settings;
pub mod statistics;
#[cfg(test)]
mod tests;

pub use command::{Change, Command, Directions, HELP, SETTINGS_HELP};
pub use command_requests::{CommandRequest, CommandSender};
pub use control::{Control, ControlError, send};
pub use ends::End;
pub use engine::{Engine, EngineEnd};
pub use kumiki_graph::Instant;
pub use kumiki_link::Opportunities;
pub use path::{MOST_MEMORY, MOST_UNITS, Path};

/// What a delay generator is to do.
#[derive(Clone, Debug)]
pub struct Config {
    /// The ends, a and b.
    pub ends: [End; 2],
    /// Carried out before anything comes.
    pub set: Vec<Command>,
    /// Carried out so long after the beginning.
    pub schedule: Vec<(Instant, Command)>,
    /// Where a control socket is made.
    pub control: Option<PathBuf>,
    /// It ends after so long.
    pub at_most: Option<Duration>,
    /// Fixes what random settings do.
    pub seed: u64,
    /// How answers and the summary are printed.
    pub form: OutputFormat,
    /// The most octets of memory that units in flight may hold, in both directions together.
    pub memory: u64,
    /// Whether commands are read from the standard input.
    pub stdin: bool,
    /// Whether it runs ahead of other programs, where it may.
    pub first: bool,
    /// The sandbox in which it runs.
    #[cfg(target_os = "linux")]
    pub sandbox: sandbox::Sandbox,
}

/// Runs until Ctrl-C, `quit`, or the time is up, and says with `say`, a line or several at a time, what was done.
///
/// # Errors
/// [`LiveError`]: where an end or the control socket cannot be had, or an end is of no more use.
pub fn run(config: Config, say: impl Fn(&str) + Clone + Send + 'static) -> Result<(), LiveError> {
    let [a, b] = &config.ends;
    let (device_a, name_a) = a.open().map_err(LiveError::Line)?;
    let (device_b, name_b) = b.open().map_err(LiveError::Line)?;
    let names = [name_a, name_b];
    let clock = RealClock::start();
    // The wait for a unit's time must not be stretched to save wake-ups.
    clock.wait_without_slack();
    let mut path = Path::new(config.seed).with_memory(config.memory);
    for command in &config.set {
        if let Command::Set(way, changes) = command {
            path.set(Instant::ZERO, *way, changes);
        }
    }
    let devices: [Box<dyn RealDevice>; 2] = [device_a, device_b];
    let engine = Engine::new(clock, devices, path, config.schedule).map_err(system("no descriptor to wait with"))?;
    let mut engine = engine.telling(config.form == OutputFormat::Json, say.clone());
    let wish = ShutdownRequest::listen(&engine.bell()).map_err(system("cannot listen to Ctrl-C"))?;
    let control = config.control.as_deref();
    let mut control =
        control.map(Control::listen).transpose().map_err(|why| ConfigError::new(format!("--control {why}")))?;
    // Ahead of the threads, which have them from here.
    #[cfg(target_os = "linux")]
    {
        let socket = config.control.as_deref();
        let socket = socket.map(|path| (sandbox::above(path), sandbox::Access::Remove));
        let needs = sandbox::of_lines([], socket.into_iter().collect());
        sandbox::enter(&config.sandbox, &needs)?;
    }
    if let Some(control) = &mut control {
        control.begin(engine.asking());
    }
    if config.stdin {
        let (asking, form, say) = (engine.asking(), config.form, say.clone());
        std::thread::spawn(move || control::serve(io::stdin(), &asking, form, say));
    }
    // Behind the threads, which must not hold anything up.
    let first = config.first.then(kumiki_io::priority::run_first);
    let first = first.is_some_and(|tried| tried.is_ok());
    say(&ready(&names, first, config.form));
    let until = config.at_most.map(|time| clock.now() + time);
    let ended = engine.run(until, || wish.is_made());
    say(engine.told("end", config.form == OutputFormat::Json).trim_end());
    match ended {
        Ok(EngineEnd::Quit | EngineEnd::Wish | EngineEnd::TimedOut) => Ok(()),
        Err(engine::Failed { end, why }) => {
            let name = names.get(end).map_or("", String::as_str);
            Err(LiveError::System { what: format!("{name} is of no more use"), why })
        }
    }
}

fn ready(names: &[String; 2], first: bool, form: OutputFormat) -> String {
    let [a, b] = names;
    match form {
        OutputFormat::Text => {
            let note = if first {
                ""
            } else {
                "\nordinary priority: where others want the processor too, packets are late now and then (`stats` says by how much)"
            };
            format!("between a = {a} and b = {b}{note}")
        }
        OutputFormat::Json => json!({ "event": "ready", "a": a, "b": b, "runs_first": first }).to_string(),
    }
}
