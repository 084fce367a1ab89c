//! `kumiki completions` and `kumiki man`: what shells and readers are told, made from the definition of the command
//! line.

use std::path::Path;

use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use kumiki_lab::profile;
use kumiki_lab::scenario::Document;

use super::{Stop, unwritable};
use crate::cli::Cli;

/// What `shell` is to load.
pub(super) fn completions(shell: Shell) -> String {
    // Files are scenarios, too. Bash completes those where no name fits; other shells know names alone where they know
    // any.
    let mut command = if shell == Shell::Bash { with_names(Cli::command()) } else { Cli::command() };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "kumiki", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The command line with the names of scenarios and profiles where such are meant.
fn with_names(command: clap::Command) -> clap::Command {
    let known = |arg: &clap::Arg| match arg.get_value_names()?.first()?.as_str() {
        "SCENARIO" => Some(Document::builtin_names()),
        "PROFILE" => Some(profile::names()),
        _ => None,
    };
    let named = |arg: clap::Arg| match known(&arg) {
        Some(names) => arg.value_parser(PossibleValuesParser::new(names)),
        None => arg,
    };
    command.mut_subcommands(|command| command.mut_args(named))
}

/// Writes a page for each command below `directory`.
pub(super) fn pages(directory: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .map_err(|why| unwritable("man", directory, &why))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    /// Every command that `--help` lists, as `run` or `x25-pad`.
    fn commands() -> Vec<String> {
        fn below(command: &clap::Command, name: &str, found: &mut Vec<String>) {
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
                let name = format!("{name}-{}", sub.get_name());
                below(sub, &name, found);
                found.push(name);
            }
        }
        let mut found = Vec::new();
        below(&Cli::command(), "kumiki", &mut found);
        found
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let text = completions(*shell);
            for command in ["reproduce", "run", "decode", "ttcp", "completions"] {
                assert!(text.contains(command), "{shell}: {command}");
            }
            assert!(text.contains("--quick") || text.contains("quick"), "{shell}");
        }
    }

    /// As bash would have it: the words that it offers behind `kumiki` and these, of which the last is not complete.
    fn offered(words: &[&str]) -> Vec<String> {
        let text = completions(Shell::Bash);
        let line: String = words.iter().map(|word| format!(" '{word}'")).collect();
        let script = format!(
            "{text}\nCOMP_WORDS=(kumiki{line}); COMP_CWORD={}; _kumiki kumiki '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.len(),
            words.last().unwrap(),
            words.iter().rev().nth(1).unwrap()
        );
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("script");
        std::fs::write(&file, script).unwrap();
        let mut bash = std::process::Command::new("bash");
        let output = kumiki_watchdog::during(|| bash.arg("--norc").arg(file).output()).unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn bash_completes_names_of_scenarios_and_profiles() {
        if std::process::Command::new("bash").arg("--version").output().is_err() {
            println!("skipped: bash could not be started");
            return;
        }
        for command in ["run", "limit", "graph", "fit"] {
            assert_eq!(offered(&[command, "paper2-fig6"]), ["paper2-fig6"], "{command}");
        }
        let papers = offered(&["run", "paper2"]);
        assert!(papers.len() > 2 && papers.iter().all(|name| name.starts_with("paper2")), "{papers:?}");
        assert_eq!(offered(&["fit", "x.toml", "--profile", "ss2"]), ["ss20"]);
        // Bash itself completes files where nothing is offered.
        assert_eq!(offered(&["run", "./x"]).concat(), "");
    }

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        pages(directory.path()).unwrap();
        let page = |name: &str| std::fs::read_to_string(directory.path().join(format!("{name}.1"))).unwrap();
        assert!(page("kumiki").contains("Exit status"));
        let commands = commands();
        assert!(commands.len() > 20, "{commands:?}");
        for name in &commands {
            let page = page(name);
            assert!(page.contains(".TH") && page.contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(!directory.path().join("kumiki-man.1").exists());
    }

    #[test]
    fn a_directory_that_cannot_be_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let Err(Stop::Input(why)) = pages(&file.join("below")) else { panic!("it was written") };
        assert!(why.contains("below"), "{why}");
    }
}
