//! `kumiki completions` and `kumiki man`: what shells and readers are told, made from the definition of the command line.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Stop, unwritable};
use crate::cli::Cli;

/// What `shell` is to load.
pub(super) fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kumiki", &mut text);
    String::from_utf8_lossy(&text).into_owned()
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
