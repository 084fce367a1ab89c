//! Pictures in files that the command line names.

use std::fs;
use std::path::Path;

use super::{Stop, unwritable};

/// Refuses a name that says that the file is something else, before anything is drawn.
pub(super) fn check(path: &Path) -> Result<(), Stop> {
    let ending = path.extension().map(|it| it.to_string_lossy().into_owned());
    match ending.filter(|it| !it.eq_ignore_ascii_case("svg")) {
        None => Ok(()),
        Some(other) => Err(Stop::Input(format!(
            "--out {}: pictures are SVG, and not {other}; did you mean {}?",
            path.display(),
            path.with_extension("svg").display()
        ))),
    }
}

/// Writes an SVG. Another one that is there is replaced; anything else is not, for a slip may have named it.
pub(super) fn write(path: &Path, svg: &str) -> Result<(), Stop> {
    let shown = path.display();
    let is_svg = |octets: &[u8]| octets.starts_with(b"<svg") || octets.starts_with(b"<?xml");
    match fs::read(path) {
        Ok(octets) if !octets.is_empty() && !is_svg(&octets) => {
            return Err(Stop::Input(format!(
                "--out {shown}: a file that is not an image is there; choose another name"
            )));
        }
        _ => {}
    }
    let was_there = path.exists();
    fs::write(path, svg).map_err(|why| {
        if !was_there {
            // Half a picture is none.
            let _ = fs::remove_file(path);
        }
        unwritable("--out", path, &why)
    })
}
