//! What `kumiki --help` shows: the commands, by what they are for.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Every command by what it is for. One that this system does not have is left out.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Simulate", &["run", "reproduce", "scenarios", "limit", "graph"]),
    ("Work with results", &["merge", "compare", "plot", "fit"]),
    ("Run real programs over an emulated network", &["link", "live", "delay"]),
    ("Be a host on a device of this machine", &["ttcp", "source", "sink", "echo", "ping", "stack"]),
    ("Test and look", &["script", "adversity", "decode"]),
    ("Reach PPP, X.25, FTAM and MMS", &["ppp", "x25", "ftam", "ftamd", "mms", "mmsd"]),
    ("This program", &["completions", "man", "help"]),
];

/// Columns in front of what a command does.
const INDENT: usize = 15;
/// No line is longer, however wide the terminal is.
const WIDTH: usize = 100;

/// The command line, whose help has the commands in groups.
pub(crate) fn command() -> Command {
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0).clamp(40, WIDTH));
    let list = list(width);
    // A template is text but for what is in braces, of which there are none in what commands do.
    Cli::command().help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// The groups, each under its heading, in lines of at most `width` columns.
fn list(width: usize) -> String {
    let mut all = Cli::command();
    all.build();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "\n{heading}:");
        let known = names.iter().filter_map(|name| all.find_subcommand(name)).filter(|it| !it.is_hide_set());
        for command in known {
            let mut does = command.get_about().map(ToString::to_string).unwrap_or_default();
            for alias in command.get_visible_aliases() {
                let _ = write!(does, " [alias: {alias}]");
            }
            let mut name = command.get_name();
            for line in lines(&does, width.saturating_sub(INDENT)) {
                let _ = writeln!(text, "  {name:<0$}{line}", INDENT - 2);
                name = "";
            }
        }
    }
    text
}

/// The words of `text`, in lines of at most `width` columns where no word is longer.
fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut all = Cli::command();
        all.build();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        for command in all.get_subcommands() {
            let name = command.get_name();
            assert_eq!(grouped.iter().filter(|it| **it == name).count(), 1, "{name}");
        }
        #[cfg(target_os = "linux")]
        for name in grouped {
            assert!(all.find_subcommand(name).is_some(), "{name}");
        }
    }

    #[test]
    fn help_has_each_command_once_under_its_heading() {
        let help = command().render_help().to_string();
        for (heading, names) in GROUPS {
            let (_, below) = help.split_once(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}"));
            let below = below.split("\n\n").next().unwrap_or_default();
            for name in names.iter().filter(|name| **name != "man") {
                assert!(below.lines().any(|line| line.starts_with(&format!("  {name} "))), "{name}: {below}");
                assert_eq!(help.matches(&format!("\n  {name} ")).count(), 1, "{name}");
            }
        }
        assert!(
            help.contains("\nUsage: kumiki <COMMAND>\n") && help.contains("--version") && help.contains("Exit status")
        );
        assert!(!list(60).lines().any(|line| line.len() > 60));
    }
}
