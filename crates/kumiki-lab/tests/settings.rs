//! `docs/settings.md` lists every setting of every kind of node, and is what the program knows.

use std::fmt::Write as _;
use std::path::Path;

use kumiki_inet::tcp::defaults;
use kumiki_stack::{Setting, Settings};

/// Set to write the document instead of comparing it.
const BLESS: &str = "KUMIKI_BLESS";

const HEAD: &str = "\
# Settings of nodes

What each kind of node in a scenario can be set to, under `[host.NAME.NODE]`. Quantities are text with their unit
(`\"20 ms\"`, `\"64 KiB\"`). A name in angle brackets stands for any name of that sort. Made from the program: do not edit.
";

fn line(list: &mut String, setting: &Setting, default: &str) {
    let key = setting.path.join(".");
    let form = setting.form.to_string();
    let _ = writeln!(list, "| `{key}` | {form} | {} | {default} |", setting.meaning);
}

/// The default, and those of the other profiles where they differ.
fn tcp_default(number: usize, setting: &Setting) -> String {
    let mut text = setting.default.clone();
    for name in defaults::NAMES.into_iter().filter(|name| *name != "modern") {
        let other = kumiki_stack::settings("tcp", &Settings::new().with("defaults", name));
        let Some(other) = other.get(number) else {
            panic!("{name} has fewer settings");
        };
        assert_eq!(other.path, setting.path);
        let is_the_choice = setting.path == ["defaults"];
        if other.default != setting.default && !is_the_choice {
            let shown = if other.default.is_empty() { "none" } else { &other.default };
            let _ = write!(text, "; {name}: {shown}");
        }
    }
    text
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for kind in kumiki_stack::kinds() {
        let _ = write!(text, "\n## `{kind}`\n\n| key | value and unit | meaning | default |\n|---|---|---|---|\n");
        for (number, setting) in kumiki_stack::settings(kind, &Settings::new()).iter().enumerate() {
            let default = match kind {
                "tcp" => tcp_default(number, setting),
                _ => setting.default.clone(),
            };
            line(&mut text, setting, &default);
        }
    }
    text.push_str(
        "\n## Devices on lines with cells\n\n| key | value and unit | meaning | default |\n|---|---|---|---|\n\
         | `aal` | \"5\" or \"3/4\" | the ATM adaptation layer, which must be the same at both ends of a channel; under a node `aal34` the device does its segments only | 5 |\n\
         | `interleave` | true or false | cells of several virtual channels are sent in turn, rather than PDU after PDU | false |\n",
    );
    text
}

#[test]
fn the_list_of_settings_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let text = document();
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/settings.md is out of date; to write it anew: {BLESS}=1 cargo test -p kumiki-lab --test settings"
    );
}

#[test]
fn every_setting_says_what_it_means_and_has_a_name_of_its_own() {
    for kind in kumiki_stack::kinds() {
        let settings = kumiki_stack::settings(kind, &Settings::new());
        for (number, setting) in settings.iter().enumerate() {
            assert!(!setting.meaning.is_empty(), "{kind} {:?}", setting.path);
            let twice = settings.iter().take(number).any(|it| it.path == setting.path);
            assert!(!twice, "{kind} {:?}", setting.path);
            for text in [setting.meaning, &setting.form.to_string(), &setting.default] {
                assert!(!text.contains('|'), "breaks the table: {text}");
            }
        }
    }
}
