//! What a command for files does with its plan, and how it ends.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use kumiki_filetransfer::attributes::{directory, size};
use kumiki_filetransfer::osi::{
    self, Association, Call, Calls, Carrier, ContentsType, Duration, Failure, Gain, Layer, LowerLayers, Operation,
    OperationOutcome, Protocols, PutMode, Task,
};
use kumiki_filetransfer::url::Url;
use kumiki_octets::text::{are, counted};

use super::bar::Bar;
use super::show;
use crate::cli::Snap;
use crate::commands::{Stop, capture_place, lines_shown, print, shown};
use crate::live::option;
use kumiki_filetransfer::local::{
    Contents, FetchTarget, Part, Receipt, StandardOutput, note_beside, part_of, path_shown,
};

/// How much is told.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OutputManner {
    /// Tell what the layers do
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// No progress, and nothing about what went well
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How a responder is waited for, and what is kept of that.
#[derive(Args, Debug)]
pub(crate) struct Line {
    /// How long an answer may take, and nothing may come
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: String,
    /// Write what crosses the connection to this file, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
}

/// The exit status of what was given up.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit status that a failure has; `stood` where there was an association.
pub(crate) const fn status(failure: &Failure, stood: bool) -> u8 {
    match (failure.layer, failure.code) {
        (Layer::Local, _) => 1,
        _ if failure.is_abort => 7,
        (Layer::Network, _) => 3,
        (Layer::Transport | Layer::Session | Layer::Presentation | Layer::Acse, _) if stood => 7,
        (Layer::Transport | Layer::Session | Layer::Presentation | Layer::Acse, _) => 4,
        // MMS says nothing of users, and its reject is a protocol error; errors of services say why something was not
        // done.
        (Layer::Mms, Some(_)) if stood => 6,
        (Layer::Mms, _) if stood => 7,
        (Layer::Mms, _) => 5,
        (Layer::Ftam, Some(1000..=1999)) => 7,
        (Layer::Ftam, None) if stood => 7,
        (Layer::Ftam, _) if stood => 6,
        (Layer::Ftam, _) => 5,
    }
}

/// Warns of what is asked for and is beyond a standard.
pub(crate) fn warn(carrier: Carrier, tpdu_size: u16) {
    if let Some(beyond) = carrier.beyond(tpdu_size) {
        tell!("kumiki: {beyond}");
    }
}

/// Whom `url` means, over such a line; as whom, `calls` says.
pub(crate) fn call(url: &Url, line: &Line, calls: impl FnOnce() -> Result<Calls, Stop>) -> Result<Call, Stop> {
    let timeout = timeout(&line.timeout)?;
    let [called, ours] = url.x121;
    if url.carrier == Carrier::Xot && called.is_empty() {
        let scheme = url.scheme;
        return Err(Stop::Input(format!(
            "XOT calls an X.121 address; write it as in {scheme}://host/FILE?carrier=xot&x121=12345"
        )));
    }
    let lower = LowerLayers {
        carrier: url.carrier,
        tpdu_size: url.tpdu.unwrap_or_else(|| url.carrier.tpdu_size()),
        timeout,
        x121: ours,
        circuit: url.circuit.clone(),
        ..LowerLayers::default()
    };
    let call = Call {
        host: url.host.clone(),
        lower,
        x121: called,
        called: url.called,
        calling: url.calling,
        names: url.names.clone(),
        application_context: url.context,
        calls: calls()?,
        timeout,
        pcap: capture_place(line.pcap.as_deref())?,
        snaplen: line.snap.length(),
    };
    warn(call.lower.carrier, call.lower.tpdu_size);
    Ok(call)
}

/// A plan with its end known beforehand.
struct Plan {
    of: Protocols,
    operations: std::collections::VecDeque<Operation>,
    outcomes: Vec<OperationOutcome>,
    bar: Bar,
    verbose: bool,
    /// How much the next operation moves, where that is known.
    expected: Option<u64>,
}

impl Task for Plan {
    fn next(&mut self) -> Option<Operation> {
        let operation = self.operations.pop_front()?;
        self.bar.begin(&operation.title());
        self.bar.expect(self.expected.take());
        Some(operation)
    }

    fn heard(&mut self, outcome: &OperationOutcome) {
        self.told(&narrated(self.of, outcome));
        if let Ok(Gain::Attributes(attributes)) = &outcome.result {
            self.expected = size(attributes);
        }
        self.outcomes.push(outcome.clone());
    }

    fn progress(&mut self, progress: osi::Progress) {
        if let Some(expected) = progress.expected.filter(|it| Some(*it) != self.expected) {
            self.expected = Some(expected);
            self.bar.expect(self.expected);
        }
        self.bar.at(progress.octets);
    }

    fn broken(&mut self, title: &str, why: &Failure, wait: Duration) {
        self.bar.say(&broken(title, why, wait));
    }

    fn started_over(&mut self, title: &str, why: &Failure) {
        self.bar.say(&started_over(title, why));
    }

    fn warned(&mut self, line: &str) {
        self.bar.say(&format!("kumiki: {line}"));
    }

    fn told(&mut self, line: &str) {
        if self.verbose {
            self.bar.say(line);
        }
    }
}

/// That something broke and goes on, in a line.
pub(crate) fn broken(title: &str, why: &Failure, wait: Duration) -> String {
    let seconds = wait.as_nanos() / 1_000_000_000;
    format!("kumiki: {title}: {}; it goes on in {seconds} s", why.meaning)
}

/// That something is not gone on with and starts over, in a line.
pub(crate) fn started_over(title: &str, why: &Failure) -> String {
    let Failure { layer, meaning, .. } = why;
    format!("kumiki: {title}: {layer}: {meaning}; it starts over")
}

/// What came of an operation, in a line.
pub(crate) fn narrated(of: Protocols, outcome: &OperationOutcome) -> String {
    let title = &outcome.title;
    match &outcome.result {
        Ok(Gain::Done) => format!("{of}: {title}: done"),
        Ok(Gain::Moved(octets)) => format!("{of}: {title}: {octets} moved", octets = counted(*octets, "octet")),
        Ok(Gain::Entries(entries)) => format!("{of}: {title}: {}", counted(entries.len(), "entry")),
        Ok(Gain::Attributes(_)) => format!("{of}: {title}: its attributes are known"),
        Err(why) => {
            let mut line = format!("{of}: {title}: {why}");
            for said in &why.diagnostics {
                line.push_str(&format!("; said: {said}"));
            }
            line
        }
    }
}

/// Does a plan, and says how it ended.
pub(crate) fn work(
    call: &Call,
    operations: Vec<Operation>,
    manner: OutputManner,
    expected: Option<u64>,
) -> Result<Vec<OperationOutcome>, Stop> {
    let mut plan = Plan {
        of: call.calls.protocol(),
        operations: operations.into(),
        outcomes: Vec::new(),
        bar: Bar::new(manner.quiet),
        verbose: manner.verbose,
        expected,
    };
    let done = osi::call(call, &mut plan);
    plan.bar.end();
    let mut association = done?;
    if is_done(plan.operations.len(), &plan.outcomes)
        && let Some(why) = association.failure.take()
        && manner.verbose
    {
        tell!("{}: {why}; all was done before", call.host);
    }
    look_at(&association, call, manner)?;
    Ok(plan.outcomes)
}

/// Whether a plan was done to its end, with so many operations not begun: how the association ends then makes it no
/// less done.
fn is_done(left: usize, outcomes: &[OperationOutcome]) -> bool {
    left == 0 && outcomes.last().is_some_and(|it| it.result.is_ok())
}

/// How an association ended.
pub(crate) fn look_at(association: &Association, call: &Call, manner: OutputManner) -> Result<(), Stop> {
    if manner.verbose {
        let (received, sent) = association.octets;
        let millis = association.elapsed.as_nanos() / 1_000_000;
        tell!("network: {received} octets received, {sent} sent, {millis} ms");
    }
    if association.interrupted {
        return Err(Stop::Ended { status: INTERRUPTED, why: "given up".to_owned() });
    }
    if let Some(why) = &association.failure {
        return Err(ended(why, association.stood, &call.host.to_string()));
    }
    Ok(())
}

/// A failure as the end of the program.
fn ended(why: &Failure, stood: bool, of: &str) -> Stop {
    let (status, why) = told(why, stood, of);
    Stop::Ended { status, why }
}

/// The status of a failure, and what is told of it.
fn told(why: &Failure, stood: bool, of: &str) -> (u8, String) {
    let shown = why.to_string();
    let text = if shown.contains(of) { shown } else { format!("{of}: {shown}") };
    (status(why, stood), text)
}

/// The end of a plan all of whose operations are to be done: the failures in their order, and the status of the first.
pub(crate) fn all_done(outcomes: &[OperationOutcome]) -> Result<(), Stop> {
    let failed = outcomes.iter().filter_map(|it| it.result.as_ref().err().map(|why| (it, why)));
    let mut failed: Vec<(u8, String)> = failed.map(|(it, why)| told(why, true, &it.title)).collect();
    let first = failed.first().map(|(status, _)| *status);
    // The last is told at the end of the program, behind the others.
    let last = failed.pop();
    for (_, why) in failed {
        tell!("kumiki: {}", lines_shown(&why));
    }
    match (first, last) {
        (Some(status), Some((_, why))) => Err(Stop::Ended { status, why }),
        _ => Ok(()),
    }
}

/// How long an answer may take.
fn timeout(text: &str) -> Result<Duration, Stop> {
    let timeout: Duration = option("--timeout", text)?;
    if timeout == Duration::ZERO {
        return Err(Stop::Input("--timeout: no answer comes within no time; write a time such as 30s".to_owned()));
    }
    Ok(timeout)
}

/// Where a file goes: none is standard output.
pub(crate) fn target(url: &Url, target: Option<&Path>) -> Result<Option<PathBuf>, Stop> {
    let own = || {
        let last = url.name.rsplit('/').next().unwrap_or_default();
        if matches!(last, "" | "." | "..") {
            return Err(Stop::Input(format!("{:?} has no name that a file here could have; name a target", url.name)));
        }
        Ok(PathBuf::from(last))
    };
    match target {
        Some(path) if path.as_os_str() == OsStr::new("-") => Ok(None),
        Some(path) if path.is_dir() => Ok(Some(path.join(own()?))),
        Some(path) => Ok(Some(path.to_owned())),
        None => own().map(Some),
    }
}

/// What takes a file that is fetched.
struct Destination {
    /// Its name; standard output has none.
    path: Option<PathBuf>,
    sink: Box<dyn osi::Sink>,
    receipt: Option<Receipt>,
    /// At which octet it is to be asked for.
    restart_at: u64,
    /// The responder is to recover what was interrupted.
    goes_on: bool,
}

impl Destination {
    fn standard_output(is_text: bool, resume: bool) -> Result<Self, Stop> {
        if resume {
            return Err(Stop::Input("--resume goes on with a file, and standard output is not a file".to_owned()));
        }
        let sink = Box::new(StandardOutput::standard().with_newlines(is_text));
        Ok(Self { path: None, sink, receipt: None, restart_at: 0, goes_on: false })
    }

    /// A device, a FIFO or a socket, or a file with what an earlier run has left of `place`, if it is to `resume`.
    fn at(path: PathBuf, (place, of): (&str, Protocols), is_text: bool, resume: bool) -> Result<Self, Stop> {
        match FetchTarget::of(&path).map_err(Stop::Input)? {
            FetchTarget::Stream(stream) if resume => Err(Stop::Input(format!(
                "--resume goes on with a file, and {} is a device, a FIFO or a socket",
                path_shown(&stream)
            ))),
            FetchTarget::Stream(stream) => {
                let (out, receipt) = StandardOutput::open(&stream).map_err(Stop::Input)?;
                let sink = Box::new(out.with_newlines(is_text));
                Ok(Self { path: Some(path), sink, receipt: Some(receipt), restart_at: 0, goes_on: false })
            }
            FetchTarget::File(file) => {
                Part::try_place(&file).map_err(Stop::Input)?;
                let (part, receipt) = Part::begin(&file, place, resume).map_err(Stop::Failed)?;
                let (part, restart_at, goes_on) = part.going_on(of).map_err(Stop::Failed)?;
                let sink = Box::new(part.with_newlines(is_text));
                Ok(Self { path: Some(path), sink, receipt: Some(receipt), restart_at, goes_on })
            }
        }
    }
}

/// Fetches the file of a URL. Lines that end with CR LF there end with LF here, if that `is_text`.
pub(crate) fn get(
    call: &Call,
    url: &Url,
    to: Option<&Path>,
    resume: bool,
    (contents_type, is_text): (Option<ContentsType>, bool),
    manner: OutputManner,
) -> Result<(), Stop> {
    let (name, of) = (url.name.clone(), call.calls.protocol());
    let Destination { path, sink, receipt, restart_at, goes_on } = match target(url, to)? {
        None => Destination::standard_output(is_text, resume)?,
        Some(path) => {
            let kind = contents_type.as_ref().map_or_else(String::new, |it| format!(" as {it}"));
            Destination::at(path, (&format!("{}{kind}", url.place()), of), is_text, resume)?
        }
    };
    let get = Operation::Get { name: name.clone(), contents_type, restart_at, sink };
    let plan = match of {
        // The attributes only say how much will come: a peer that does not tell is no less good.
        // Who turns to a file in another way does not go on with what was interrupted there.
        Protocols::Ftam if !goes_on => vec![Operation::Stat { name }, get],
        Protocols::Ftam | Protocols::Mms => vec![get],
    };
    let before = plan.len() - 1;
    work(call, plan, manner, None).and_then(|outcomes| all_done(outcomes.get(before..).unwrap_or_default())).map_err(
        |why| match &path {
            Some(path) if resume => with_part(why, path),
            Some(_) | None => why,
        },
    )?;
    if let (false, Some(path), Some(receipt)) = (manner.quiet, &path, &receipt) {
        let it = receipt.read();
        let there = match (it.resumed, it.compared) {
            (0, 0) => String::new(),
            (0, octets) => format!(", {octets} of them were there, and came once more"),
            (octets, _) => format!(", {octets} of them were there"),
        };
        tell!("{}: {}{there}", path_shown(path), counted(it.size, "byte"));
    }
    Ok(())
}

/// What ended a transfer, with what it has left of `target` for another run.
fn with_part(stop: Stop, target: &Path) -> Stop {
    let part = part_of(target);
    let size = std::fs::metadata(&part).map_or(0, |it| it.len());
    match stop {
        Stop::Ended { status, why } if size > 0 => Stop::Ended {
            status,
            why: format!(
                "{why}; {bytes} {are} kept in {}, and --resume goes on with them",
                part.display(),
                bytes = counted(size, "byte"),
                are = are(size)
            ),
        },
        Stop::Ended { .. } | Stop::Input(_) | Stop::Failed(_) | Stop::NoRoom(_) => stop,
    }
}

/// What ended a transfer that is not to be done twice, with how to begin it once more where `file` was not added.
fn with_note(stop: Stop, file: &Path) -> Stop {
    let note = note_beside(file);
    match stop {
        Stop::Ended { status, why } if note.exists() => Stop::Ended {
            status,
            why: format!(
                "{why}; --resume goes on with it while the responder has it, and adds nothing twice: where the file there is without it and the responder has not kept it, remove {} first",
                path_shown(&note)
            ),
        },
        Stop::Ended { .. } | Stop::Input(_) | Stop::Failed(_) | Stop::NoRoom(_) => stop,
    }
}

/// Under which name `file` is sent to a URL.
pub(crate) fn put_name(file: &Path, url: &Url) -> Result<String, Stop> {
    if Url::is_one(&file.to_string_lossy()) {
        return Err(Stop::Input("the file of this machine comes first, and the URL behind it".to_owned()));
    }
    let is_input = file.as_os_str() == OsStr::new("-");
    let mut name = url.name.clone();
    if name.is_empty() || name.ends_with('/') {
        let own = file.file_name().and_then(OsStr::to_str);
        let Some(own) = own.filter(|_| !is_input) else {
            return Err(Stop::Input("the URL names no file".to_owned()));
        };
        name.push_str(own);
    }
    Ok(name)
}

/// Sends a file, or standard input. Lines that end with LF here end with CR LF there, if that `is_text`. With `resume`
/// it goes on with what an earlier run has left, and leaves a note for another one.
pub(crate) fn put(
    call: &Call,
    file: &Path,
    name: &str,
    (contents_type, mode, is_text): (ContentsType, PutMode, bool),
    resume: bool,
    manner: OutputManner,
) -> Result<(), Stop> {
    let is_input = file.as_os_str() == OsStr::new("-");
    let contents = match (is_input, resume) {
        (true, true) => {
            return Err(Stop::Input("--resume goes on with a file, and standard input is not a file".to_owned()));
        }
        (true, false) => Contents::of_standard_input().map_err(Stop::Failed),
        (false, _) => Contents::of(file).map_err(Stop::Input),
    };
    let mut contents = contents?.with_newlines(is_text).map_err(Stop::Failed)?;
    if resume {
        let ends = if is_text { " with CR LF" } else { "" };
        let place = format!("{mode:?} as {contents_type}{ends} {} {name}", call.host);
        contents = contents.recovering(file, &place).map_err(Stop::Failed)?;
    }
    let size = contents.size;
    let put = Operation::Put { name: name.to_owned(), contents_type, mode, source: Box::new(contents) };
    let done = work(call, vec![put], manner, Some(size)).and_then(|outcomes| all_done(&outcomes).map(|()| outcomes));
    let is_in_doubt = resume && mode == PutMode::Append;
    let outcomes = done.map_err(|why| if is_in_doubt { with_note(why, file) } else { why })?;
    if resume {
        // There may be none; and one that stays is refused by the responder the next time.
        let _ = std::fs::remove_file(note_beside(file));
    }
    if let (false, Some(Ok(Gain::Moved(octets)))) = (manner.quiet, outcomes.first().map(|it| it.result.clone())) {
        // What an earlier run has sent was not moved by this one.
        let resumed = match size.saturating_sub(octets) {
            0 => String::new(),
            octets => format!(", {octets} of them were there"),
        };
        tell!("{}: {bytes}{resumed}", shown(name), bytes = counted(size, "byte"));
    }
    Ok(())
}

/// Lists the directory of a URL.
pub(crate) fn list(call: &Call, url: &Url, json: bool, manner: OutputManner) -> Result<(), Stop> {
    let list = Operation::List { name: directory(&url.name) };
    let outcomes = work(call, vec![list], manner, None)?;
    all_done(&outcomes)?;
    for outcome in &outcomes {
        if let Ok(Gain::Entries(entries)) = &outcome.result {
            print(&show::entries(entries, call.calls.protocol(), json))?;
        }
    }
    Ok(())
}

/// Shows the attributes of the file of a URL.
pub(crate) fn stat(call: &Call, url: &Url, json: bool, manner: OutputManner) -> Result<(), Stop> {
    let stat = Operation::Stat { name: directory(&url.name) };
    let outcomes = work(call, vec![stat], manner, None)?;
    all_done(&outcomes)?;
    for outcome in &outcomes {
        if let Ok(Gain::Attributes(attributes)) = &outcome.result {
            let mut attributes = attributes.clone();
            // Only FTAM knows types of contents.
            if call.calls.protocol() == Protocols::Mms {
                attributes.contents_type = None;
            }
            print(&show::attributes(&attributes, call.calls.protocol(), json))?;
        }
    }
    Ok(())
}

/// Does what gives nothing to show.
pub(crate) fn plain(call: &Call, operations: Vec<Operation>, manner: OutputManner) -> Result<(), Stop> {
    let outcomes = work(call, operations, manner, None)?;
    all_done(&outcomes)
}

/// Gives the file of a URL another name.
pub(crate) fn rename(call: &Call, url: &Url, to: &str, manner: OutputManner) -> Result<(), Stop> {
    if Url::is_one(to) {
        return Err(Stop::Input(format!(
            "the new name is at the same responder; write the name alone, without {}://",
            url.scheme
        )));
    }
    let rename = Operation::Rename { name: url.name.clone(), to: to.to_owned() };
    plain(call, vec![rename], manner)
}

/// The first of names at one responder, and the others.
pub(crate) fn names(url: &Url, more: &[String], make: impl Fn(String) -> Operation) -> Result<Vec<Operation>, Stop> {
    if more.iter().any(|name| Url::is_one(name)) {
        return Err(Stop::Input("only the first is a URL; the others are names at the same responder".to_owned()));
    }
    let all = std::iter::once(&url.name).chain(more);
    Ok(all.cloned().map(make).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_behind_the_last_operation_has_done_all() {
        let outcome = |result| OperationOutcome { title: "put a".to_owned(), result };
        let done = || outcome(Ok(Gain::Moved(3)));
        let failed = || outcome(Err(Failure::local("anything")));
        assert!(is_done(0, &[failed(), done()]));
        assert!(!is_done(1, &[done()]));
        assert!(!is_done(0, &[done(), failed()]));
        assert!(!is_done(0, &[]));
    }

    #[test]
    fn what_mms_rejects_is_a_protocol_error_and_what_a_service_cannot_do_is_none() {
        let of = |code| Failure { layer: Layer::Mms, code, ..Failure::local("anything") };
        // A reject has no code of a service.
        assert_eq!(status(&of(None), true), 7);
        assert_eq!(status(&of(Some(7)), true), 6);
        assert_eq!(status(&of(Some(2)), false), 5);
    }
}
