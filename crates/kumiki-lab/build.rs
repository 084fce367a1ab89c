//! Compiles the repository's scenarios and profiles in: writes the lists that `scenario` and `profile` include.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    for (folder, constant) in [("scenarios", "SCENARIOS"), ("profiles", "PROFILES")] {
        let list = list(&here.join("../..").join(folder), constant)?;
        fs::write(out.join(format!("{folder}.rs")), list)?;
    }
    Ok(())
}

/// A constant with name and text of every `.toml` file in `folder`, by name.
fn list(folder: &Path, constant: &str) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                files.push(entry?.path());
            }
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => return Err(why),
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut text = format!(
        "/// The name of each file without `.toml`, and its text.\npub(super) const {constant}: &[(&str, &str)] = &[\n"
    );
    for file in files {
        let file = file.canonicalize()?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    text.push_str("];\n");
    Ok(text)
}
