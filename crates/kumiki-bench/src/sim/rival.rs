//! ns-3's half: one source file, compiled against the libraries of Debian's package `libns3-dev`.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = include_str!("../../rivals/ns3.cc");
/// The libraries it uses.
const LIBRARIES: [&str; 6] = ["applications", "core", "internet", "network", "point-to-point", "traffic-control"];

/// The program, in a directory that goes with it.
pub(super) struct RivalProgram {
    directory: tempfile::TempDir,
}

impl RivalProgram {
    /// Compiles it.
    ///
    /// # Errors
    ///
    /// What is missing, and what to install.
    pub(super) fn new() -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|why| why.to_string())?;
        let built = Self { directory };
        let source = built.directory.path().join("ns3.cc");
        std::fs::write(&source, SOURCE).map_err(|why| why.to_string())?;
        let output = Command::new("g++")
            .args(["-std=c++17", "-O2", "-o"])
            .arg(built.program())
            .arg(&source)
            .args(LIBRARIES.map(|library| format!("-lns3-{library}")))
            .output()
            .map_err(|why| format!("g++: {why}; {REMEDY}"))?;
        if output.status.success() {
            return Ok(built);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|line| line.contains("error"));
        Err(format!("ns-3's half could not be compiled ({}); {REMEDY}", first.unwrap_or("no reason given")))
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("ns3")
    }

    pub(super) fn command(&self) -> Command {
        Command::new(self.program())
    }
}

const REMEDY: &str = "on Debian: apt-get install g++ libns3-dev; or compare nothing with --alone";
