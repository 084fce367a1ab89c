//! What makes a point the same point in another process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::scenario::{Choice, ConfigError, Point};
use kumiki_config::error::read_file;

/// SHA-256 of `octets`, in hexadecimal.
pub(super) fn sha256(octets: &[u8]) -> String {
    hex(Sha256::digest(octets).as_slice())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// The key of a point: SHA-256 over everything that its rows depend on. That is the version of the program, the name of
/// the scenario and the place of the point in it, its text after all names and `--set` are put in, the paper's value,
/// the most runs of it, and what its profiles and the recordings of its lines say.
///
/// What only says how points are made of a scenario, what it is called, and how results are judged is not in it: a
/// comment may change, and a `[[trend]]`.
///
/// # Errors
///
/// [`ConfigError`] where a profile or a recording cannot be read again.
pub(super) fn of(scenario: &str, point: &Point, choice: &Choice) -> Result<String, ConfigError> {
    let mut hash = Sha256::new();
    // With its length, so that no two lists of parts are the same octets.
    let mut add = |part: &str| {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    };
    add(env!("CARGO_PKG_VERSION"));
    add(super::COMMIT.unwrap_or_default());
    add(scenario);
    add(&point.index.to_string());
    add(&point.resolved().to_string());
    for (name, value) in &point.varied {
        add(name);
        add(&value.to_string());
    }
    let compare = point.compare().map(|it| (it.value, it.fitted));
    add(&format!("{compare:?}"));
    add(&format!("{:?}", point.scenario.run.repeat.as_ref().map(|it| it.made(choice.runs))));
    for (name, text) in texts(point) {
        add(name);
        add(&text);
    }
    for text in recordings(point)? {
        add(&text);
    }
    Ok(hex(hash.finalize().as_slice()))
}

/// What the files say by which recorded lines of a point go, in the order of the lines.
fn recordings(point: &Point) -> Result<Vec<String>, ConfigError> {
    let files =
        point.scenario.link.values().flat_map(|link| link.settings.get("traces").and_then(toml::Value::as_array));
    let files = files.flatten().filter_map(toml::Value::as_str);
    files.map(|file| read_file(Path::new(file))).collect()
}

/// All that each profile of a point says, with what it is like, by its name: maps in it are in the order of their
/// names.
fn texts(point: &Point) -> impl Iterator<Item = (&str, String)> {
    point.profiles().iter().map(|(name, profile)| (name.as_str(), format!("{profile:?}")))
}

/// SHA-256 of what each profile of a point says, by its name, which is that of the file where it is one.
pub(super) fn profiles(point: &Point) -> BTreeMap<String, String> {
    // Where a file is on this machine is nobody's business.
    let named =
        |name: &str| Path::new(name).file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    texts(point).map(|(name, text)| (named(name), sha256(text.as_bytes()))).collect()
}
