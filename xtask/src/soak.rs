//! `cargo xtask soak`: a responder of FTAM in use for hours, with callers and faults, and whether anything of it grows.
//!
//! | | |
//! |---|---|
//! | Serves | `kumiki ftamd`, one process from the beginning to the end |
//! | Callers | three, one process for each transfer: a file is put, listed, fetched, compared, renamed and removed |
//! | Faults | callers killed in the middle of a transfer, callers who say nothing, nonsense or half of something, names that are not there |
//! | Each minute | callers and faults rest for a moment, so that what the responder holds is its own and not that of who happens to call |
//! | | a line of `soak.csv`: its memory, descriptors and threads, transfers, and how long the small ones took |
//! | Fails | where a transfer fails or brings other octets, the responder ends, or one of those figures has a slope |
//! | After that | a year of one TCP connection in virtual time: the test `year` of `kumiki-script` |
//! | Left out | mmsd, PAD and switch; XOT; a machine that runs out of memory or of disk |

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

mod slope;

use slope::{Figure, Limit};

/// How long, and with what.
#[derive(Debug, PartialEq)]
pub(crate) struct SoakArgs<'a> {
    pub(crate) time: Duration,
    /// The program, where it is not to be built.
    pub(crate) program: Option<&'a str>,
}

/// Reads what stands behind `soak`.
pub(crate) fn wanted<'a>(arguments: &[&'a str]) -> Option<SoakArgs<'a>> {
    let (time, program) = match *arguments {
        [unit, number] => ((unit, number), None),
        [unit, number, "--program", program] => ((unit, number), Some(program)),
        _ => return None,
    };
    let seconds = match time.0 {
        "--hours" => 3600.0,
        "--minutes" => 60.0,
        _ => return None,
    };
    let number: f64 = time.1.parse().ok()?;
    let is_time = number.is_finite() && number > 0.0 && number < 1e6;
    is_time.then(|| SoakArgs { time: Duration::from_secs_f64(number * seconds), program })
}

const CALLERS: u64 = 3;
const SMALL: usize = 2_000;
const LARGE: usize = 3_000_000;
const MINUTE: Duration = Duration::from_secs(60);

/// How often each of the callers, and who makes the faults, begins something new.
const PACE: Duration = Duration::from_millis(250);

/// How long all rest before the responder's figures are read: it learns that a caller has gone, and lets go.
const REST: Duration = Duration::from_secs(1);

/// So many callers say nothing at once, before the first of them goes.
const SILENT: usize = 6;

/// An end to a call and to the responder's: what takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "a soak is of the machine's time")]
fn now() -> Instant {
    Instant::now()
}

/// What all threads know.
struct Soak {
    program: PathBuf,
    folder: PathBuf,
    /// Address and port of the responder.
    at: String,
    over: AtomicBool,
    /// Read by who calls, written by who lets all of them rest.
    turns: RwLock<()>,
    faults: AtomicU64,
    /// What went wrong first.
    wrong: Sender<String>,
    /// How long each small transfer took.
    took: Sender<Duration>,
}

/// Whether it held.
pub(crate) fn soak(root: &Path, wanted: &SoakArgs<'_>) -> Result<bool, String> {
    let program = match wanted.program {
        Some(program) => fs::canonicalize(program).map_err(|why| format!("{program}: {why}"))?,
        None => build(root)?,
    };
    let folder = target(root).join("soak");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("root")).map_err(said(&folder))?;
    let (mut responder, at) = serve(&program, &folder)?;
    let (wrong, complaints) = channel();
    let (took, times) = channel();
    let soak = Soak {
        program,
        folder: folder.clone(),
        at,
        over: AtomicBool::new(false),
        turns: RwLock::new(()),
        faults: AtomicU64::new(0),
        wrong,
        took,
    };
    println!(
        "soak: {} at {}, for {:.0} min; figures in {}",
        soak.program.display(),
        soak.at,
        wanted.time.as_secs_f64() / 60.0,
        folder.join("soak.csv").display()
    );
    let watched = std::thread::scope(|scope| {
        for number in 0..CALLERS {
            let soak = &soak;
            scope.spawn(move || soak.until_over(|turn| soak.call(number, turn)));
        }
        scope.spawn(|| {
            let mut silent = Vec::new();
            soak.until_over(|turn| soak.fault(turn, &mut silent));
        });
        let watched = soak.watch(&mut responder, wanted.time, &complaints, &times);
        soak.over.store(true, Ordering::Relaxed);
        watched
    });
    let ended = end(&mut responder);
    let (figures, failed) = watched?;
    let failed: Vec<String> = failed.into_iter().chain(ended.err()).collect();
    for why in &failed {
        println!("soak: {why}");
    }
    let mut held = failed.is_empty();
    for (limit, values) in figures.columns() {
        if let Some(grows) = slope::grows(&limit, &values) {
            held = false;
            println!("soak: {grows}");
        }
    }
    if figures.0.len() < slope::LEAST {
        println!("soak: too short to see a slope");
    } else if held {
        println!("soak: nothing grows");
    }
    if failed.is_empty()
        && let Err(why) = year(root)
    {
        println!("soak: {why}");
        held = false;
    }
    Ok(held)
}

fn said(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |why| format!("{}: {why}", path.display())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).current_dir(root).args(arguments).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {}: {status}", arguments.join(" "))),
        Err(why) => Err(format!("cargo does not start: {why}")),
    }
}

fn build(root: &Path) -> Result<PathBuf, String> {
    cargo(root, &["build", "--release", "--locked", "-p", "kumiki"])?;
    Ok(target(root).join("release/kumiki"))
}

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| root.join("target"))
}

/// A year of one TCP connection, in seconds.
fn year(root: &Path) -> Result<(), String> {
    let test = ["test", "--quiet", "--locked", "-p", "kumiki-script"];
    cargo(root, &[&test[..], &["--test", "year"]].concat())
}

/// The responder, and where it listens.
fn serve(program: &Path, folder: &Path) -> Result<(Child, String), String> {
    let log = folder.join("responder.log");
    let out = fs::File::create(&log).map_err(said(&log))?;
    let err = out.try_clone().map_err(said(&log))?;
    let place = folder.join("at");
    let mut responder = Command::new(program)
        .current_dir(folder)
        .args(["ftamd", "--root", "root", "--listen", "127.0.0.1:0"])
        .args(["--anonymous", "--port-file", "at"])
        .args(["--setup-timeout", "5s", "--idle", "30s", "--keep", "30s"])
        .args(["--associations", "64", "--max-per-host", "64", "--max-tries", "0"])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(said(program))?;
    let begun = now();
    loop {
        let at = fs::read_to_string(&place).unwrap_or_default();
        if let Some((at, _)) = at.split_once('\n') {
            return Ok((responder, at.to_owned()));
        }
        let ended = responder.try_wait().map_err(|why| why.to_string())?;
        if ended.is_some() || now().duration_since(begun) > TIMEOUT {
            let _ = responder.kill();
            let log = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("the responder does not listen: {log}"));
        }
        std::thread::yield_now();
    }
}

/// Ctrl-C, which is to end it well.
fn end(responder: &mut Child) -> Result<(), String> {
    let asked = Command::new("kill").args(["-INT", &responder.id().to_string()]).status();
    let status = asked.map_err(|why| why.to_string()).and_then(|_| wait(responder));
    match status {
        Ok(Some(0)) => Ok(()),
        other => Err(format!("the responder ended with {other:?}, asked to end")),
    }
}

/// The status of a process that ends; one that hangs is killed.
fn wait(child: &mut Child) -> Result<Option<i32>, String> {
    let begun = now();
    loop {
        match child.try_wait().map_err(|why| why.to_string())? {
            Some(status) => return Ok(status.code()),
            None if now().duration_since(begun) > TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it hangs".to_owned());
            }
            None => pause(Duration::from_millis(2)),
        }
    }
}

fn pause(time: Duration) {
    // A channel on which nothing comes is a clock.
    let (_keep, never) = channel::<()>();
    let _ = never.recv_timeout(time);
}

/// Octets that differ from file to file.
fn contents(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut octets = Vec::with_capacity(len + 8);
    while octets.len() < len {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        octets.extend(state.to_le_bytes());
    }
    octets.truncate(len);
    octets
}

impl Soak {
    /// Acts again and again, each time with the number of the turn.
    fn until_over(&self, mut act: impl FnMut(u64) -> Result<(), String>) {
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let acting = self.turns.read().unwrap_or_else(PoisonError::into_inner);
            let acted = act(turn);
            drop(acting);
            if let Err(why) = acted {
                // Only the first is asked for.
                let _ = self.wrong.send(why);
                return;
            }
            pause(PACE);
        }
    }

    fn ftam(&self, arguments: &[&str]) -> Result<Child, String> {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.folder)
            .arg("ftam")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().map_err(said(&self.program))
    }

    /// A call that is to go well.
    fn well(&self, arguments: &[&str]) -> Result<(), String> {
        let mut child = self.ftam(arguments)?;
        let what = arguments.join(" ");
        let status = wait(&mut child).map_err(|why| format!("ftam {what}: {why}"))?;
        if status == Some(0) {
            return Ok(());
        }
        let mut errors = String::new();
        if let Some(mut stream) = child.stderr.take() {
            let _ = stream.read_to_string(&mut errors);
        }
        Err(format!("ftam {what}: status {status:?}: {errors}"))
    }

    fn url(&self, name: &str) -> String {
        format!("ftam://{}/{name}", self.at)
    }

    /// One file there and back.
    fn call(&self, number: u64, turn: u64) -> Result<(), String> {
        let len = if turn % 20 == 19 { LARGE } else { SMALL };
        let octets = contents(len, number << 40 | turn);
        let (own, got) = (format!("own{number}"), format!("got{number}"));
        let (there, then) = (format!("f{number}"), format!("g{number}"));
        fs::write(self.folder.join(&own), &octets).map_err(said(&self.folder))?;
        self.well(&["put", &own, &self.url(&there)])?;
        self.well(&["ls", &self.url("")])?;
        let began = now();
        self.well(&["get", &self.url(&there), &got])?;
        if len == SMALL {
            let _ = self.took.send(now().duration_since(began));
        }
        let came = fs::read(self.folder.join(&got)).map_err(said(&self.folder))?;
        if came != octets {
            return Err(format!("caller {number}, turn {turn}: other octets came back"));
        }
        self.well(&["mv", &self.url(&there), &then])?;
        self.well(&["rm", &self.url(&then)])
    }

    /// One of the things that happen to a responder. None of them may do more than fail.
    fn fault(&self, turn: u64, silent: &mut Vec<TcpStream>) -> Result<(), String> {
        self.faults.fetch_add(1, Ordering::Relaxed);
        let large = "large";
        match turn % 7 {
            0 => {
                if turn == 0 {
                    let octets = contents(20 * LARGE, 1);
                    fs::write(self.folder.join(large), octets).map_err(said(&self.folder))?;
                    self.well(&["put", large, &self.url(large)])?;
                }
                self.killed(turn, &["get", &self.url(large), "torn"])
            }
            1 => self.killed(turn, &["put", large, &self.url("torn")]),
            2 => {
                let mut child = self.ftam(&["get", &self.url("nothing"), "nothing"])?;
                match wait(&mut child)? {
                    Some(6) => Ok(()),
                    other => Err(format!("a name that is not there: status {other:?}")),
                }
            }
            3 => self.says(b"GET / HTTP/1.0\r\n\r\n"),
            // A TPKT of which the rest never comes; one of the largest length.
            4 => self.says(&[3, 0, 0, 22, 17, 0xe0]),
            5 => self.says(&[3, 0, 255, 255]),
            _ => {
                let socket = TcpStream::connect(&self.at).map_err(|why| why.to_string())?;
                silent.push(socket);
                if silent.len() > SILENT {
                    silent.remove(0);
                }
                Ok(())
            }
        }
    }

    /// A call that is killed after a while, another one each time.
    fn killed(&self, turn: u64, arguments: &[&str]) -> Result<(), String> {
        let mut child = self.ftam(arguments)?;
        pause(Duration::from_millis(5 + turn * 37 % 200));
        let _ = child.kill();
        child.wait().map(|_| ()).map_err(|why| why.to_string())
    }

    /// Somebody who says this and goes.
    fn says(&self, octets: &[u8]) -> Result<(), String> {
        let mut socket = TcpStream::connect(&self.at).map_err(|why| why.to_string())?;
        // It may be sent away before it has said all.
        let _ = socket.write_all(octets);
        Ok(())
    }

    /// Puts down figures each minute until the time is up, or something goes wrong, which it says.
    fn watch(
        &self,
        responder: &mut Child,
        time: Duration,
        complaints: &Receiver<String>,
        times: &Receiver<Duration>,
    ) -> Result<(Figures, Option<String>), String> {
        let path = self.folder.join("soak.csv");
        let mut csv = fs::File::create(&path).map_err(said(&path))?;
        writeln!(csv, "{}", Minute::NAMES).map_err(said(&path))?;
        let begun = now();
        let mut figures = Figures(Vec::new());
        loop {
            let minutes = u32::try_from(figures.0.len()).unwrap_or(u32::MAX) + 1;
            let next = (MINUTE * minutes).min(time);
            let left = next.saturating_sub(now().duration_since(begun));
            match complaints.recv_timeout(left) {
                Ok(why) => return Ok((figures, Some(why))),
                // `self` has a sender too.
                Err(RecvTimeoutError::Disconnected) => return Err("nobody is left".to_owned()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(status) = responder.try_wait().map_err(|why| why.to_string())? {
                let why = format!("the responder ended by itself: {status}");
                return Ok((figures, Some(why)));
            }
            let took: Vec<Duration> = times.try_iter().collect();
            let faults = self.faults.load(Ordering::Relaxed);
            let resting = self.turns.write().unwrap_or_else(PoisonError::into_inner);
            pause(REST);
            let minute = Minute::of(responder.id(), took, faults)?;
            drop(resting);
            let line = minute.line(minutes);
            writeln!(csv, "{line}").map_err(said(&path))?;
            println!("{line}");
            figures.0.push(minute);
            if next >= time {
                return Ok((figures, None));
            }
        }
    }
}

/// What the responder has, and how it did.
struct Minute {
    rss_kib: f64,
    descriptors: f64,
    threads: f64,
    transfers: usize,
    median_ms: f64,
    p99_ms: f64,
    faults: u64,
}

impl Minute {
    const NAMES: &'static str = "minute,rss_kib,descriptors,threads,small_transfers,median_ms,p99_ms,faults";

    fn of(process: u32, mut took: Vec<Duration>, faults: u64) -> Result<Self, String> {
        let status = PathBuf::from(format!("/proc/{process}/status"));
        let text = fs::read_to_string(&status).map_err(said(&status))?;
        let number = |name: &str| -> Result<f64, String> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            let number = word.and_then(|word| word.parse().ok());
            number.ok_or_else(|| format!("{} has no {name}", status.display()))
        };
        let descriptors = PathBuf::from(format!("/proc/{process}/fd"));
        let count = fs::read_dir(&descriptors).map_err(said(&descriptors))?;
        took.sort_unstable();
        let at = |percent: usize| {
            let place = (took.len() * percent / 100).min(took.len().saturating_sub(1));
            took.get(place).map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
        };
        Ok(Self {
            rss_kib: number("VmRSS:")?,
            descriptors: f64::from(u32::try_from(count.count()).unwrap_or(u32::MAX)),
            threads: number("Threads:")?,
            transfers: took.len(),
            median_ms: at(50),
            p99_ms: at(99),
            faults,
        })
    }

    fn line(&self, minute: u32) -> String {
        let mut line = String::new();
        let _ = write!(
            line,
            "{minute},{},{},{},{},{:.2},{:.2},{}",
            self.rss_kib, self.descriptors, self.threads, self.transfers, self.median_ms, self.p99_ms, self.faults
        );
        line
    }
}

struct Figures(Vec<Minute>);

impl Figures {
    /// What must not grow, and by how much it may seem to.
    fn columns(&self) -> Vec<(Limit, Vec<f64>)> {
        let columns: [(Limit, Figure<Minute>); 5] = [
            (Limit::part("memory, in KiB", 0.08), |it| it.rss_kib),
            (Limit::number("descriptors", 2.0), |it| it.descriptors),
            (Limit::number("threads", 1.0), |it| it.threads),
            (Limit::part("the median of small transfers, in ms", 0.5), |it| it.median_ms),
            (Limit::part("their 99th percentile, in ms", 1.0), |it| it.p99_ms),
        ];
        let values = |of: Figure<Minute>| self.0.iter().map(of).filter(|it| it.is_finite());
        columns.map(|(limit, of)| (limit, values(of).collect())).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_hours_or_minutes() {
        let of = |arguments: &[&'static str]| wanted(arguments).map(|it| (it.time.as_secs(), it.program));
        assert_eq!(of(&["--hours", "2"]), Some((7200, None)));
        let with = ["--minutes", "0.5", "--program", "kumiki"];
        assert_eq!(of(&with), Some((30, Some("kumiki"))));
        for wrong in [&["--hours"][..], &["--hours", "0"], &["--days", "1"], &[]] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_minute_is_that_of_the_process() {
        let took = [3, 1, 2].map(Duration::from_millis).to_vec();
        let minute = Minute::of(std::process::id(), took, 4).expect("this process is there");
        assert!(minute.rss_kib > 100.0 && minute.threads >= 1.0 && minute.descriptors >= 3.0);
        assert_eq!((minute.median_ms, minute.p99_ms, minute.transfers), (2.0, 3.0, 3));
    }
}
