//! `kumiki script`: a TCP held against scripts that read like traces.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use kumiki_live::private;
use kumiki_script::{Linux, Script, ScriptOutcome};

use super::{Stop, print, uncaptured, unreadable, unwritable};
use crate::cli;

/// Scripts that run at once against Linux: most of them wait most of the time.
const AT_ONCE: usize = 8;

/// What came of one script.
enum Verdict {
    Met,
    /// It does not apply, and why.
    Left(String),
    Failed(String),
}

pub(super) fn script(args: &cli::Script) -> Result<(), Stop> {
    let found = kumiki_script::find(&args.paths).map_err(|why| Stop::Input(why.to_string()))?;
    let mut scripts = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).map_err(|why| unreadable("", &path, &why))?;
        let read = kumiki_script::parse(&path.display().to_string(), &text);
        let script = read.map_err(|wrong| Stop::Input(wrong.to_string()))?;
        // With --record it is what comes that is wanted.
        if !args.record && !script.expects() {
            let why = "it expects nothing, so it would always be met; expected what the stack sends (>), or that it sends nothing";
            return Err(Stop::Input(format!("{}: {why}", script.file)));
        }
        scripts.push((path, script));
    }
    if scripts.is_empty() {
        return Err(Stop::Input(format!("there are no files *.{} there", kumiki_script::ENDING)));
    }
    if scripts.len() > 1 && (args.pcap.is_some() || args.here) {
        return Err(Stop::Input("--pcap and --here are for one script".to_owned()));
    }
    let verdicts = match (args.against, args.here) {
        (None, _) => one_by_one(&scripts, args, |script| {
            kumiki_script::run(script, args.record).map(Some).map_err(|fault| format!("{}: {fault}", script.file))
        })?,
        (Some(cli::OtherStack::Linux), true) => one_by_one(&scripts, args, |script| {
            kumiki_script::against_linux(script, args.record, None).map_err(|why| format!("{}: {why}", script.file))
        })?,
        (Some(cli::OtherStack::Linux), false) => in_namespaces(&scripts, args),
    };
    told(&scripts, &verdicts, args)
}

fn told(scripts: &[(PathBuf, Script)], verdicts: &[Verdict], args: &cli::Script) -> Result<(), Stop> {
    let (mut met, mut left, mut failed) = (0, 0, 0);
    let mut text = String::new();
    for ((path, _), verdict) in scripts.iter().zip(verdicts) {
        let path = path.display();
        match verdict {
            Verdict::Met => {
                met += 1;
                if !args.quiet && !args.record {
                    text.push_str(&format!("{path}: met\n"));
                }
            }
            Verdict::Left(why) => {
                left += 1;
                if !args.quiet {
                    text.push_str(&format!("{path}: left out: {why}\n"));
                }
            }
            Verdict::Failed(why) => {
                failed += 1;
                text.push_str(&format!("{why}\n"));
            }
        }
    }
    if scripts.len() > 1 {
        text.push_str(&format!("{met} scripts met, {failed} not met, {left} left out\n"));
    }
    print(&text)?;
    if failed == 0 {
        return Ok(());
    }
    Err(Stop::Failed(format!("{failed} of {} scripts are not met", scripts.len())))
}

/// Runs scripts here, one after the other.
fn one_by_one(
    scripts: &[(PathBuf, Script)],
    args: &cli::Script,
    run: impl Fn(&Script) -> Result<Option<ScriptOutcome>, String>,
) -> Result<Vec<Verdict>, Stop> {
    let mut verdicts = Vec::new();
    for (_, script) in scripts {
        let verdict = match run(script) {
            Err(why) => Verdict::Failed(why),
            Ok(None) => Verdict::Left(reason(script)),
            Ok(Some(outcome)) => {
                if let Some(path) = &args.pcap {
                    capture(path, &outcome, args.snap)?;
                }
                for line in &outcome.recorded {
                    print(&format!("{line}\n"))?;
                }
                match outcome.failure {
                    None => Verdict::Met,
                    Some(failure) => Verdict::Failed(failure.to_string()),
                }
            }
        };
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

fn reason(script: &Script) -> String {
    match &script.header.linux {
        Linux::No(why) => why.clone(),
        Linux::Yes(_) => String::new(),
    }
}

fn capture(path: &Path, outcome: &ScriptOutcome, snap: cli::Snap) -> Result<(), Stop> {
    let file = private::create(path).map_err(|why| unwritable("--pcap", path, &why))?;
    kumiki_script::pcapng(&outcome.crossed, snap.length(), BufWriter::new(file))
        .map_err(|why| uncaptured("--pcap", path, why))?;
    Ok(())
}

/// Runs each script in a network namespace of its own, several at once, by this program once more.
fn in_namespaces(scripts: &[(PathBuf, Script)], args: &cli::Script) -> Vec<Verdict> {
    // Where we may not make a namespace for the network alone, one for users around it makes us root in it.
    let mut probe = Command::new("unshare");
    probe.args(["--net", "true"]).stderr(Stdio::null());
    let may = probe.status().is_ok_and(|status| status.success());
    let unshare: &[&str] = if may { &["--net"] } else { &["--user", "--map-root-user", "--net"] };
    let next = Mutex::new(0);
    let verdicts: Vec<Mutex<Option<Verdict>>> = scripts.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(scripts.len()) {
            scope.spawn(|| {
                loop {
                    let at = {
                        let mut next = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        *next += 1;
                        *next - 1
                    };
                    let (Some((path, script)), Some(place)) = (scripts.get(at), verdicts.get(at)) else {
                        return;
                    };
                    let verdict = match &script.header.linux {
                        Linux::No(why) => Verdict::Left(why.clone()),
                        Linux::Yes(_) => alone(path, unshare, args),
                    };
                    *place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_iter().map(|place| {
        let verdict = place.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        verdict.unwrap_or_else(|| Verdict::Failed("it was not run".to_owned()))
    });
    verdicts.collect()
}

/// One script in a namespace of its own.
fn alone(path: &Path, unshare: &[&str], args: &cli::Script) -> Verdict {
    let itself = match std::env::current_exe() {
        Ok(itself) => itself,
        Err(why) => return Verdict::Failed(format!("this program is not to be found: {why}")),
    };
    let mut command = Command::new("unshare");
    command.args(unshare).arg("--").arg(itself);
    command.args(["script", "--against", "linux", "--here", "--quiet"]);
    if args.record {
        command.arg("--record");
    }
    if let Some(path) = &args.pcap {
        command.arg("--pcap").arg(path);
    }
    if args.snap.length() > 0 {
        command.arg("--snaplen").arg(args.snap.length().to_string());
    }
    command.arg(path).stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(why) => return Verdict::Failed(format!("unshare of util-linux does not start: {why}")),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.trim_end();
    if output.status.success() {
        if args.record && print(&format!("{said}\n")).is_err() {
            return Verdict::Failed("standard output is closed".to_owned());
        }
        return Verdict::Met;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Verdict::Failed(if said.is_empty() { format!("{}: {}", path.display(), errors.trim()) } else { said.to_owned() })
}
