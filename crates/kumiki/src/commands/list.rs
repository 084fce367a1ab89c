//! `kumiki scenarios`, also called `list`: what there is to run, and what has been run.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use kumiki_config::refusal::json_words;
use kumiki_lab::rows::Output;
use kumiki_lab::scenario::Document;
use serde_json::Value;

use super::{Stop, print_words, shown, unreadable};

pub(super) fn run(directories: &[PathBuf]) -> Result<(), Stop> {
    if directories.is_empty() {
        return scenarios();
    }
    let mut text = String::new();
    for directory in directories {
        let found = results(directory)?;
        if found.is_empty() {
            return Err(Stop::Input(format!("{}: no results in it, nor in a directory in it", directory.display())));
        }
        for place in found {
            text.push_str(&result(&place)?);
        }
    }
    print_words(&text)
}

/// Name, paper, number of points, title of each that is built in.
fn scenarios() -> Result<(), Stop> {
    let documents = Document::builtin()?;
    let mut lines: Vec<[String; 3]> = Vec::new();
    for document in &documents {
        let paper = document.paper().map_or_else(String::new, |paper| format!("paper {paper}"));
        let points = counted(document.count()?, "point");
        lines.push([document.name().to_owned(), paper, points]);
    }
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
    let (name_width, paper_width, points_width) = (width(0), width(1), width(2));
    let mut text = String::new();
    for ([name, paper, points], document) in lines.iter().zip(&documents) {
        let title = document.title();
        text.push_str(&format!("{name:name_width$}  {paper:paper_width$}  {points:>points_width$}  {title}\n"));
    }
    print_words(&text)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what} ") } else { format!("{count} {what}s") }
}

/// `directory` where it has results, or those of its directories that have.
fn results(directory: &Path) -> Result<Vec<PathBuf>, Stop> {
    let has =
        |place: &Path| [Output::RUN, Output::JOURNAL, Output::ROWS_JSONL].iter().any(|it| place.join(it).is_file());
    if has(directory) {
        return Ok(vec![directory.to_owned()]);
    }
    if directory.extension().is_some_and(|it| it == "toml") && directory.is_file() {
        let place = directory.display();
        let instead = "without one the scenarios that are built in are listed; `kumiki run --dry-run` says what a scenario of one's own would run";
        return Err(Stop::Input(format!(
            "{place}: a scenario, and no result: expected a directory of results; {instead}"
        )));
    }
    let io = |why| unreadable("", directory, &why);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(io)? {
        let place = entry.map_err(io)?.path();
        if has(&place) {
            found.push(place);
        }
    }
    found.sort();
    Ok(found)
}

/// Refuses rows that are not all there: whoever reads them would, too.
fn whole(rows: &Path) -> Result<(), Stop> {
    let unread = |why| unreadable("", rows, &why);
    let mut file = match fs::File::open(rows) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(unread(why)),
    };
    let cut = |what: &str| Err(Stop::Input(format!("{}: {what}", rows.display())));
    if file.metadata().map_err(unread)?.len() == 0 {
        return cut("no rows in it");
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(unread)?;
    if last == *b"\n" { Ok(()) } else { cut("it is cut off: its last line has no end") }
}

/// What `run.json` says, in two lines.
fn result(place: &Path) -> Result<String, Stop> {
    let name = shown(&place.display().to_string());
    let path = place.join(Output::RUN);
    if !path.is_file() {
        let what = if place.join(Output::ROWS_JSONL).is_file() { "rows" } else { "points that have ended" };
        return Ok(format!("{name}: {what}, and no run.json that says of what\n"));
    }
    let wrong = |why: String| Stop::Input(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|why| unreadable("", &path, &why))?;
    let run: Value = serde_json::from_str(&text).map_err(|why| wrong(json_words(&why)))?;
    whole(&place.join(Output::ROWS_JSONL))?;
    let word = |path: &str| run.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let count = |path: &str| run.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    let scenarios = || run.get("scenarios").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = scenarios().filter_map(|it| it.get("name")?.as_str()).collect();
    let what = match names.as_slice() {
        [] => "nothing".to_owned(),
        [first] => (*first).to_owned(),
        [first, .., last] => format!("{} scenarios, {first} to {last}", names.len()),
    };
    let points = |count| kumiki_octets::text::counted(count, "point");
    let (done, all) = (count("/points/done"), points(count("/points/all")));
    let whole = scenarios().filter_map(|it| it.get("points")?.as_u64()).fold(0, u64::saturating_add);
    let shard = if whole > count("/points/all") { format!(", a shard of {}", points(whole)) } else { String::new() };
    let failed = match count("/points/failed") {
        0 => String::new(),
        failed => format!(" ({failed} failed)"),
    };
    let commit = run.get("commit").and_then(Value::as_str).map_or_else(String::new, |commit| format!(" ({commit})"));
    let line =
        format!("{what}: {done} of {all}{failed}{shard}, {}, Kumiki {}{commit}", word("/started"), word("/version"));
    Ok(format!("{name}: {}\n    {}\n", shown(&line), shown(word("/command"))))
}
