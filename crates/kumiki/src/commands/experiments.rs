//! Experiments in virtual time: `run`, `reproduce`, and `merge`, which puts together what shards have brought.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kumiki_lab::progress::Progress;
use kumiki_lab::reproduce::{
    self, CapturedConnections, Header, Interruption, Journal, Merged, Options, Plan, Provenance, Results, Runner,
    Shard, Verdict,
};
use kumiki_lab::rows::{Output, OutputError, TABLES, to_jsonl};
use kumiki_lab::scenario::{Choice, Document};
use kumiki_lab::table::{Layout, Lines};
use kumiki_live::{Bell, ShutdownRequest};
use kumiki_octets::text::counted;

use super::{Stop, print, print_words, shown, unopened};
use crate::cli;

#[cfg(feature = "parquet")]
mod parquet;

/// What is to be run.
pub(super) struct Work<'a> {
    /// The command, for the line that tells of its progress.
    pub(super) what: &'a str,
    pub(super) documents: &'a [Document],
    /// Those of `--set`.
    pub(super) set: Vec<String>,
    /// What is captured, as on the command line.
    pub(super) captures: String,
    pub(super) args: &'a cli::Results,
}

/// Checks everything, runs it, and writes and prints what came of it.
pub(super) fn experiments<R: Runner + Send + 'static>(work: Work<'_>, runner: &Arc<R>) -> Result<(), Stop> {
    let Work { documents, ref set, ref captures, args, .. } = work;
    let choice = Choice { set: set.clone(), quick: args.quick, runs: args.runs };
    let provenance = begin().after(args.resume.then_some(&args.out));
    let plan = Plan::new(documents, &choice, &**runner)?;
    if args.dry_run {
        return foresee(documents, &choice, captures, &plan, args);
    }
    let wish = ShutdownRequest::listen(&Bell::default())
        .map_err(|why| Stop::Failed(format!("cannot listen to Ctrl-C: {why}")))?;
    let output = open(&args.out, args.force || args.resume)?;
    let shard = args.shard.unwrap_or_default();
    let header = Header::new(documents, &choice, captures, shard);
    let journal = Journal::open(&output, &header, &plan, args.resume).map_err(unopened_journal)?;
    let ended = go_on(&work, (&plan, runner), (journal, shard), (&output, &provenance), &wish);
    ended.map_err(|why| match why {
        Stop::NoRoom(why) => {
            let kept = Journal::look(&args.out, &header, &plan).map_or(0, |kept| kept.len());
            let steps = (0..plan.len()).filter(|place| shard.has(*place)).count();
            Stop::Failed(without_room(&why, (kept, steps), &output))
        }
        why @ (Stop::Input(_) | Stop::Failed(_) | Stop::Ended { .. }) => why,
    })
}

/// Runs what is not in the journal, and writes and prints what came of it.
fn go_on<R: Runner + Send + 'static>(
    work: &Work<'_>,
    (plan, runner): (&Plan, &Arc<R>),
    (mut journal, shard): (Journal, Shard),
    (output, provenance): (&Output, &Provenance),
    wish: &ShutdownRequest,
) -> Result<(), Stop> {
    let Work { what, args, .. } = *work;
    journal.replace(output, &BTreeSet::new())?;
    let kept = journal.kept();
    let steps = (0..plan.len()).filter(|place| shard.has(*place)).count();
    // Whoever goes on with it knows when it began, whatever ends it.
    output.write(Output::RUN, provenance.end(plan, (kept, steps), 0).as_bytes())?;
    let mut progress = Progress::new(what, u64::try_from(steps).unwrap_or(u64::MAX));
    let captured = captured(plan, args, |place| shard.has(place) && !journal.has(place));
    if let Some((_, told)) = captured.filter(|(octets, _)| *octets >= MANY) {
        progress.note(&format!("{what}: {told}"));
    }
    if args.resume {
        progress.note(&format!("{what}: {kept} of {steps} points are in {} already", args.out.display()));
    }
    let asked = wish.clone();
    let options = Options {
        jobs: jobs(args.jobs),
        interruption: Interruption::by(move || asked.is_made()),
        output: Some(output),
        journal: Some(&mut journal),
        shard,
        ..Options::default()
    };
    let ran = plan.run(runner, options, &mut progress);
    let results = match ran {
        Ok(results) => results,
        Err(why) => {
            progress.finish();
            return Err(why.into());
        }
    };
    let left: usize = results.iter().map(|result| result.left().0).sum();
    let failed = count_failed(&results);
    if wish.is_made() && left > 0 {
        progress.finish();
        let done = steps - left;
        if done == 0 {
            // Nothing is in it, and the next attempt makes it again.
            journal.discard()?;
            let _ = std::fs::remove_dir(output.directory());
        }
        if done > 0 {
            output.rewrite(Output::RUN, provenance.end(plan, (done, steps), failed).as_bytes())?;
        }
        return Err(Stop::Ended { status: wish.status(), why: interrupted((done, steps), output) });
    }
    if let (true, [result]) = (args.quick, results.as_slice())
        && !result.is_shortened()
    {
        progress.note(&format!(
            "kumiki: --quick: {} names no fewer points ([quick]), so all of them were run",
            shown(result.name())
        ));
    }
    // What a shard has failed at is a part of the whole.
    if shard.is_whole() && !has_rows(&results) {
        // A file without rows would be in the way of the next attempt.
        journal.discard()?;
        let told = tell(&results, output, ResultFormat::of(args), (progress, &|| Ok(())));
        // Nor would an empty directory help anybody.
        let _ = std::fs::remove_dir(output.directory());
        return told;
    }
    let end = || output.rewrite(Output::RUN, provenance.end(plan, (steps, steps), failed).as_bytes()).map(drop);
    end()?;
    if !output.path(Journal::NAME).is_file() {
        let place = args.out.display();
        progress.note(&format!(
            "kumiki: {} is missing from {place}: this result cannot be resumed or merged",
            Journal::NAME
        ));
    }
    if !shard.is_whole() {
        progress.finish();
        if args.json {
            print_rows(&results)?;
        }
        let place = shown(&args.out.display().to_string());
        let (points, are) = (counted(steps as u64, "point"), if steps == 1 { "is" } else { "are" });
        tell!(
            "kumiki: the {points} of shard {shard} {are} in {place}; `kumiki merge DIR... --out DIR` makes one result of all shards"
        );
        return failures(&results);
    }
    tell(&results, output, ResultFormat::of(args), (progress, &end))
}

/// Tells what would be run. Nothing is written, and where the run would be refused for what is there, so is this.
fn foresee(
    documents: &[Document],
    choice: &Choice,
    captures: &str,
    plan: &Plan,
    args: &cli::Results,
) -> Result<(), Stop> {
    let shard = args.shard.unwrap_or_default();
    let header = Header::new(documents, choice, captures, shard);
    let kept = if args.resume { Journal::look(&args.out, &header, plan)? } else { BTreeMap::new() };
    let foreseen = plan.foreseen(shard, &kept);
    let captured = captured(plan, args, |place| shard.has(place) && !kept.contains_key(&place));
    if args.json {
        print(&foreseen.to_jsonl())?;
    } else {
        let layout = layout();
        let tables: Vec<String> = foreseen.tables().iter().map(|table| table.draw(layout)).collect();
        let captured = captured.map_or_else(String::new, |(_, told)| format!("With --pcap: {told}.\n"));
        print_words(&format!("{}\n{}{captured}", tables.join("\n"), foreseen.summary(jobs(args.jobs))))?;
    }
    let output = Output::look(&args.out, args.force || args.resume).map_err(unopened)?;
    Journal::look_for_room(&output, &header, plan, args.resume).map_err(unopened)
}

/// About how many octets captures of the points have whose places are `wanted`, and that in words; nothing without
/// captures.
fn captured(plan: &Plan, args: &cli::Results, wanted: impl Fn(usize) -> bool + Copy) -> Option<(f64, String)> {
    let layers = args.pcap.as_ref()?;
    let of = |snaplen| plan.captured((layers, snaplen), wanted);
    let octets = of(args.snap.length());
    Some((octets, reproduce::size_of_captures(octets, of(reproduce::HEADERS_ALONE))))
}

/// Captures that have so many octets are told of before they are written.
const MANY: f64 = 1e9;

/// How many points are run at once.
pub(super) fn jobs(given: Option<u16>) -> usize {
    given.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Puts together what shards have brought, as if it had been run at once.
pub(super) fn merge(args: &cli::Merge) -> Result<(), Stop> {
    let provenance = begin().after(&args.directories);
    for twice in twice(&args.directories) {
        tell!("kumiki: {} is given twice, and counts once", shown(&twice.display().to_string()));
    }
    let merged = Merged::read(&args.directories).map_err(unopened_journal)?;
    let plan = merged.plan().clone();
    let output = Output::open(&args.out, args.force).map_err(|why| {
        let OutputError::Exists { directory, file } = &why else {
            return unopened(why);
        };
        Stop::Input(format!(
            "--out: {} already has a result ({}); choose another directory with --out, or replace it with --force",
            directory.display(),
            file.display()
        ))
    })?;
    let results = merged.results(&output).map_err(unopened_journal)?;
    let failed = count_failed(&results);
    let run = || provenance.end(&plan, (plan.len(), plan.len()), failed);
    output.write(Output::RUN, run().as_bytes()).map_err(unopened_journal)?;
    let end = || output.rewrite(Output::RUN, run().as_bytes()).map(drop);
    tell(&results, &output, ResultFormat { json: args.json, parquet: false }, (Progress::hidden(), &end))
}

/// The directories that were named before, perhaps otherwise.
fn twice(directories: &[PathBuf]) -> Vec<&PathBuf> {
    let mut seen = BTreeSet::new();
    let real = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    directories.iter().filter(|path| !seen.insert(real(path))).collect()
}

/// What is known of where results come from.
fn begin() -> Provenance {
    let command = again(std::env::args().skip(1).map(|word| without_place(&word)), false);
    Provenance::begin(command, kumiki_live::date())
}

fn open(directory: &Path, force: bool) -> Result<Output, Stop> {
    Output::open(directory, force).map_err(unopened)
}

/// That the journal cannot be begun: for its place, or for what is in it.
fn unopened_journal(why: OutputError) -> Stop {
    if matches!(why, OutputError::Io { .. } | OutputError::Unread { .. }) { unopened(why) } else { why.into() }
}

/// Prints all rows as JSON Lines.
fn print_rows(results: &[Results]) -> Result<(), Stop> {
    reproduce::whole_rows(results).try_for_each(|row| print(&to_jsonl(&[row?])?))
}

fn has_rows(results: &[Results]) -> bool {
    results.iter().any(|result| result.rows().next().is_some())
}

/// The form of results.
#[derive(Clone, Copy)]
struct ResultFormat {
    /// Rows are printed as JSON Lines.
    json: bool,
    /// Columns are written as Parquet.
    parquet: bool,
}

impl ResultFormat {
    const fn of(args: &cli::Results) -> Self {
        Self { json: args.json, parquet: args.parquet() }
    }
}

/// Writes the columns as Parquet where that is asked for; else those of an earlier result go.
fn columns(results: &[Results], output: &Output, wanted: bool) -> Result<Vec<PathBuf>, Stop> {
    #[cfg(feature = "parquet")]
    if wanted {
        return parquet::write(output, results);
    }
    let _ = (results, wanted);
    for (name, _) in TABLES {
        output.remove(&format!("{name}.parquet"))?;
    }
    Ok(Vec::new())
}

/// Writes what came of it, and says where; and what could not be written beside it. `end` writes down how long all has
/// taken until then.
fn write(
    results: &[Results],
    output: &Output,
    wanted: ResultFormat,
    (progress, end): (&mut Progress, &dyn Fn() -> Result<(), OutputError>),
) -> Result<(Vec<PathBuf>, Option<Stop>), Stop> {
    if !has_rows(results) {
        return Ok((Vec::new(), None));
    }
    progress.then("writing rows and figures");
    let mut files = reproduce::write_rows_and_figures(output, results)?;
    let columns = columns(results, output, wanted.parquet);
    let connections = CapturedConnections::of(output, results, progress);
    progress.then("writing the page");
    // The page says so, too.
    end()?;
    files.push(reproduce::write_page(output, results, &connections)?);
    end()?;
    Ok(match columns {
        Ok(more) => ([files, more].concat(), None),
        // What there is otherwise is told first.
        Err(why) => (files, Some(why)),
    })
}

/// Writes and prints what came of it.
fn tell(
    results: &[Results],
    output: &Output,
    wanted: ResultFormat,
    (mut progress, end): (Progress, &dyn Fn() -> Result<(), OutputError>),
) -> Result<(), Stop> {
    let written = write(results, output, wanted, (&mut progress, end));
    progress.finish();
    let (files, failed) = written?;
    if wanted.json {
        print_rows(results)?;
    } else {
        let layout = layout();
        let tables: Vec<String> = results
            .iter()
            .flat_map(|result| {
                let tables = [Some(result.table()), result.task_table(), result.why_table()].into_iter().flatten();
                tables.map(|table| table.draw(layout)).chain(result.why_elsewhere())
            })
            .collect();
        print_words(&tables.join("\n"))?;
        let verdicts: Vec<Verdict> = results.iter().flat_map(|result| result.verdicts(results)).collect();
        // Of one scenario what holds stands below its table.
        if results.len() > 1 && !verdicts.is_empty() {
            print_words(&format!("\n{}", reproduce::summary(&verdicts)))?;
        } else if let Some(origins) = reproduce::origins(&verdicts) {
            print_words(&format!("{origins}\n"))?;
        }
        let files = files.iter().map(|file| format!("{}\n", file.display()));
        let files: Vec<String> = files.chain(results.iter().filter_map(|result| captures(result, output))).collect();
        print_words(&format!("\n{}", files.concat()))?;
    }
    failed.map_or_else(|| failures(results), Err)
}

/// Where the captures of a result are, and how many.
fn captures(result: &Results, output: &Output) -> Option<String> {
    let count: usize = result.captures().map(|(_, names)| names.len()).sum();
    let folder = output.path(Output::CAPTURES).join(result.name());
    let files = if count == 1 { "file" } else { "files" };
    (count > 0).then(|| format!("{} ({count} {files})\n", folder.display()))
}

/// How many points have failed.
fn count_failed(results: &[Results]) -> usize {
    results.iter().map(|result| result.failures().len()).sum()
}

/// The points that have failed, if any.
fn failures(results: &[Results]) -> Result<(), Stop> {
    let all: usize = results.iter().map(|result| result.left().1).sum();
    let list: Vec<String> = results
        .iter()
        .flat_map(|result| {
            result.failures().into_iter().map(|(label, why)| {
                let place: Vec<&str> = [result.name(), &label].into_iter().filter(|s| !s.is_empty()).collect();
                format!("\n  {}: {why}", place.join(", "))
            })
        })
        .collect();
    if list.is_empty() {
        return Ok(());
    }
    Err(Stop::Failed(format!("{} of {} failed:{}", list.len(), counted(all as u64, "point"), list.concat())))
}

/// What an interrupted command has left, and how to go on.
fn interrupted((done, all): (usize, usize), output: &Output) -> String {
    let again = again(std::env::args().skip(1), done > 0);
    let kept = match done {
        0 => "nothing was written".to_owned(),
        _ => format!("they are in {}", output.path(Journal::NAME).display()),
    };
    format!("interrupted: {done} of {all} points have ended, {kept}. To go on:\n  {again}")
}

/// Why a command has no room for what it writes, what it has left, and how to go on.
fn without_room(why: &str, (done, all): (usize, usize), output: &Output) -> String {
    let again = again(std::env::args().skip(1), true);
    let journal = output.path(Journal::NAME);
    format!(
        "{why}: {done} of {all} points have ended, which are in {}. With more room (a full disk? `ulimit -f`?), to go on:\n  {again}",
        journal.display()
    )
}

/// The command line that goes on where this one was interrupted.
pub(super) fn again(arguments: impl Iterator<Item = String>, resume: bool) -> String {
    let own = ["--force", "--resume"];
    let kept = arguments.filter(|argument| !own.contains(&argument.as_str())).map(|argument| quoted(&argument));
    let resume = resume.then(|| "--resume".to_owned());
    ["kumiki".to_owned()].into_iter().chain(kept).chain(resume).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// How tables are drawn for whoever reads them.
pub(super) fn layout() -> Layout {
    Layout { lines: lines(|name| std::env::var(name).ok()), width: terminal_width() }
}

/// The lines of tables, where `variable` has the environment: POSIX.1-2017, section 8.2, says which variable counts.
/// Where none is set, as in many containers, a terminal shows more than ASCII all the same.
pub(super) fn lines(variable: impl Fn(&str) -> Option<String>) -> Lines {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let Some(locale) = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set) else {
        return Lines::Unicode;
    };
    let codeset = locale.split_once('.').map_or("", |(_, codeset)| codeset).to_ascii_lowercase();
    let is_plain = ["C", "POSIX"].contains(&locale.as_str());
    let is_other = !codeset.is_empty() && !codeset.starts_with("utf-8") && !codeset.starts_with("utf8");
    if is_plain || is_other { Lines::Ascii } else { Lines::Unicode }
}

/// Where the tables are read on a terminal, how wide it is.
fn terminal_width() -> Option<u16> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// A word of the command line in which files are named without where they are on this machine.
fn without_place(word: &str) -> String {
    let (before, path) = match word.split_once('=') {
        Some((name, value)) if value.starts_with('/') => (format!("{name}="), value),
        Some(_) | None => (String::new(), word),
    };
    let name = Path::new(path).file_name().filter(|_| path.starts_with('/'));
    name.map_or_else(|| word.to_owned(), |name| format!("{before}{}", name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_named_twice_is_told() {
        let directories = ["src", "tests", "./src"].map(PathBuf::from);
        assert_eq!(twice(&directories), [&PathBuf::from("./src")]);
    }

    #[test]
    fn a_locale_without_utf_8_has_tables_of_ascii() {
        let lines = |set: &[(&str, &str)]| {
            lines(|name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(lines(&[]), Lines::Unicode);
        for unicode in [
            [("LC_ALL", "C.UTF-8"), ("LANG", "C")],
            [("LANG", "de_DE.utf8"), ("LC_ALL", "")],
            [("LC_CTYPE", "en_GB"), ("LANG", "C")],
        ] {
            assert_eq!(lines(&unicode), Lines::Unicode, "{unicode:?}");
        }
        for ascii in [
            [("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")],
            [("LC_CTYPE", "POSIX"), ("LC_ALL", "")],
            [("LANG", "ja_JP.eucJP"), ("LC_ALL", "")],
        ] {
            assert_eq!(lines(&ascii), Lines::Ascii, "{ascii:?}");
        }
    }

    #[test]
    fn where_files_are_is_left_out() {
        for (word, kept) in [
            ("/home/ada/x.toml", "x.toml"),
            ("--out=/home/ada/out", "--out=out"),
            ("x.toml", "x.toml"),
            ("rtt=20 ms / 2", "rtt=20 ms / 2"),
            ("./x.toml", "./x.toml"),
        ] {
            assert_eq!(without_place(word), kept);
        }
    }
}
