//! The tutorial and the experiments of a textbook are true: each of their commands gives what the page shows.
//!
//! | | |
//! |---|---|
//! | Run | every line `$ kumiki ...` of `docs/tutorial/*.md` and `docs/textbook/*.md`, page after page in one folder, with the TOML of the pages in the files that they name |
//! | Compared | every line below it, up to the next command; `...` stands for anything |
//! | Of the README | its scenario, and a row of its figure |
//! | Left out | other commands than `kumiki`; what is in [`LEFT_OUT`] |
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that are not run, and why: their beginning.
const LEFT_OUT: [(&str, &str); 3] = [
    ("kumiki run losses.toml", "half an hour of traffic: a minute without optimisation"),
    ("kumiki echo --tun", "a TUN device, and a client beside it"),
    ("kumiki decode k0.pcapng", "the capture of that"),
];

/// A word of a command line may have blanks between double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether `line` is as `shown`, in which `...` stands for anything.
fn is_as_shown(line: &str, shown: &str) -> bool {
    let mut rest = line;
    shown.split("...").map(str::trim_end).all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

/// The blocks of a page: what stands behind the three marks, and the lines; with the text in front of each.
fn blocks(page: &str) -> Vec<(String, String, Vec<String>)> {
    let mut parts = page.split("```");
    let mut blocks = Vec::new();
    while let (Some(text), Some(block)) = (parts.next(), parts.next()) {
        let mut lines = block.lines().map(str::to_owned);
        blocks.push((text.to_owned(), lines.next().unwrap_or_default(), lines.collect()));
    }
    blocks
}

/// The file that the text in front of a block names: "as `my.toml`".
fn file_name(text: &str) -> Option<&str> {
    let (_, behind) = text.rsplit_once("as `").or_else(|| text.rsplit_once("as\n`"))?;
    behind.split_once('`').map(|(name, _)| name).filter(|name| name.ends_with(".toml"))
}

/// Runs `command` in `folder`, and says which of the lines `shown` it does not give.
fn differences(folder: &Path, command: &str, shown: &[String]) -> Vec<String> {
    let words = words(command);
    let output =
        Command::new(env!("CARGO_BIN_EXE_kumiki")).args(words.iter().skip(1)).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let is_given = |shown: &&String| text.lines().any(|line| is_as_shown(line, shown));
    // How long it took is no part of what it gives.
    let compared = shown.iter().filter(|shown| !shown.is_empty() && !shown.starts_with("run: "));
    compared
        .filter(|shown| !is_given(shown))
        .map(|shown| format!("$ {command}\n    does not give: {shown}\n{text}"))
        .collect()
}

/// Runs the commands of the pages in the folder `name` of the book; says what is not as they show, and how many there
/// were.
fn tried(name: &str) -> (Vec<String>, usize) {
    kumiki_watchdog::minute();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let pages = std::fs::read_dir(root.join("docs").join(name)).unwrap().map(|entry| entry.unwrap().path());
    let pages: BTreeMap<PathBuf, String> =
        pages.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    let (mut wrong, mut run) = (Vec::new(), 0);
    for page in pages.values() {
        for (text, kind, lines) in blocks(page) {
            if kind == "toml"
                && let Some(name) = file_name(&text)
            {
                std::fs::write(folder.join(name), lines.join("\n")).unwrap();
            }
            let mut rest = lines.as_slice();
            while let Some((line, behind)) = rest.split_first() {
                rest = behind;
                let Some(command) = line.strip_prefix("$ kumiki ").map(|rest| format!("kumiki {rest}")) else {
                    continue;
                };
                let ends = rest.iter().position(|line| line.starts_with("$ ")).unwrap_or(rest.len());
                let (shown, behind) = rest.split_at(ends);
                rest = behind;
                // Each may take its time.
                kumiki_watchdog::minute();
                if !LEFT_OUT.iter().any(|(beginning, _)| command.starts_with(beginning)) {
                    wrong.extend(differences(&folder, &command, shown));
                    run += 1;
                }
            }
        }
    }
    (wrong, run)
}

#[test]
fn the_commands_of_the_tutorial_give_what_it_shows() {
    let (wrong, run) = tried("tutorial");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 12, "{run} commands");
}

#[test]
fn the_experiments_of_a_textbook_give_what_they_show() {
    let (wrong, run) = tried("textbook");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 4, "{run} commands");
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.split(['│', '┆']).map(str::trim).collect()
}

#[test]
fn what_the_readme_shows_is_what_comes() {
    kumiki_watchdog::minute();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let run = |arguments: &[&str]| {
        let command =
            Command::new(env!("CARGO_BIN_EXE_kumiki")).arg("run").args(arguments).current_dir(&folder).output();
        String::from_utf8(command.unwrap().stdout).unwrap()
    };
    let row = readme.lines().find(|line| line.starts_with("│ 48 KiB")).unwrap();
    let text = run(&["paper2-fig6", "--set", "window=48 KiB", "--out", "fig6"]);
    assert!(text.lines().any(|line| cells(line) == cells(row)), "{row}\n{text}");

    let (_, _, scenario) = blocks(&readme).into_iter().find(|(_, kind, _)| kind == "toml").unwrap();
    let impair = readme.split('`').find(|part| part.starts_with("impair = ")).unwrap();
    let shown: Vec<&str> =
        readme.split("` gives ").skip(1).filter_map(|part| part.split_once(" Mb/s")).map(|it| it.0).collect();
    assert_eq!(shown.len(), 2);
    for (directory, more, shown) in [("mine", "", shown[0]), ("lossy", impair, shown[1])] {
        let lines = scenario.iter().map(|line| {
            let behind = if line.starts_with("propagation") { more } else { "" };
            format!("{line}\n{behind}\n")
        });
        std::fs::write(folder.join("my.toml"), lines.collect::<String>()).unwrap();
        let text = run(&["my.toml", "--out", directory]);
        for value in shown.replace(" and ", ", ").split(", ") {
            assert!(text.contains(&format!(" {value} ")), "{value} of {shown}\n{text}");
        }
    }
}

/// They are to be typed.
#[test]
fn the_scenarios_of_a_textbook_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/textbook");
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        for (text, kind, lines) in blocks(&std::fs::read_to_string(&path).unwrap()) {
            if kind == "toml" && file_name(&text).is_some() {
                assert!(lines.len() <= 30, "{}: {} lines", path.display(), lines.len());
            }
        }
    }
}

#[test]
fn dots_stand_for_anything() {
    assert!(is_as_shown("one two three", "one ... three"));
    assert!(is_as_shown("one two three", "..."));
    assert!(!is_as_shown("one two three", "one ... four"));
    assert!(!is_as_shown("one two three", "three ... one"));
}
