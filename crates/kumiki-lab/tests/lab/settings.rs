//! `docs/settings.md` lists every setting of every kind of node and of every medium, and is what the program knows.

use std::fmt::Write as _;

use kumiki_inet::tcp::defaults;
use kumiki_media::{self as medium, Device};
use kumiki_stack::{Setting, Settings};

const HEAD: &str = "\
# Settings of nodes and media

What each kind of node in a scenario can be set to, under `[host.NAME.NODE]`; behind them, what each
[medium](#media) can. Quantities are text with their unit (`\"20 ms\"`, `\"64 KiB\"`, `\"10 Mb/s\"`), a share is `\"0.5 %\"` or 0.005. A
name in angle brackets stands for any name of that sort. Made from the program: do not edit.
";

const COLUMNS: &str = "\n| key | value and unit | meaning | default |\n|---|---|---|---|\n";

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

const MEDIA: &str = "
# Media

A link has two `ends`, each `host.device` or `switch.port`, and a `medium`. What that can be set to stands beside them, under
`[link.NAME]`; what another medium has is refused.
";

const SWITCHES: &str = "
# Switches

A switch has `ports`, so many, which `ends` of links name as `switch.0`, `switch.1` and so on, and a `kind`, which is `atm` unless given; it is set under
`[switch.NAME]`.
";

fn table(text: &mut String, settings: &[Setting]) {
    text.push_str(COLUMNS);
    for setting in settings {
        line(text, setting, &setting.default);
    }
}

/// Those that have the same settings stand together.
fn media<T>(text: &mut String, media: &[(&str, medium::MediumMaker<T>)]) {
    let settings = |name: &str| medium::settings_of(media, name);
    for same in media.chunk_by(|(one, _), (other, _)| settings(one) == settings(other)) {
        let names: Vec<String> = same.iter().map(|(name, _)| format!("`{name}`")).collect();
        let _ = writeln!(text, "\n## {}", names.join(", "));
        same.iter().take(1).for_each(|(name, _)| table(text, &settings(name)));
    }
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for kind in kumiki_stack::kinds() {
        let _ = write!(text, "\n## `{kind}`\n{COLUMNS}");
        for (number, setting) in kumiki_stack::settings(kind, &Settings::new()).iter().enumerate() {
            let default = match kind {
                "tcp" => tcp_default(number, setting),
                _ => setting.default.clone(),
            };
            line(&mut text, setting, &default);
        }
    }
    text.push_str("\n## Devices on lines with cells\n");
    table(&mut text, &kumiki_settings::settings_of(&mut Device::default()));
    text.push_str(MEDIA);
    media(&mut text, &medium::LINES);
    text.push_str(
        "\n# Rings\n\nA ring has `ends`, two stations at least, and a `medium`; it is set under `[ring.NAME]`.\n",
    );
    media(&mut text, &medium::RINGS);
    text.push_str(SWITCHES);
    media(&mut text, &medium::SWITCHES);
    text
}

#[test]
fn the_list_of_settings_is_up_to_date() {
    crate::generated::is_up_to_date("settings.md", &document(), "settings");
}

#[test]
fn every_setting_says_what_it_means_and_has_a_name_of_its_own() {
    let nodes = kumiki_stack::kinds().map(|kind| (kind, kumiki_stack::settings(kind, &Settings::new())));
    let lines = medium::LINES.iter().map(|(name, _)| (*name, medium::settings_of(&medium::LINES, name)));
    let rings = medium::RINGS.iter().map(|(name, _)| (*name, medium::settings_of(&medium::RINGS, name)));
    let switches = medium::SWITCHES.iter().map(|(name, _)| (*name, medium::settings_of(&medium::SWITCHES, name)));
    for (kind, settings) in nodes.chain(lines).chain(rings).chain(switches) {
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
