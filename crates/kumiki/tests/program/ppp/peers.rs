//! The peers: programs beside the repository, started for one test and ended with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use kumiki_watchdog::peers::{folder, is_there};
pub(crate) use kumiki_watchdog::process::{Folder, ProcessOutput, Running};
use serde_json::Value;

fn skip(why: &str) {
    kumiki_watchdog::peers::skip("KUMIKI_REQUIRE_PPP", why);
}

/// The folder of pppd in user-mode Linux; `None` where it cannot start, after saying so.
pub(crate) fn pppd_kit() -> Option<PathBuf> {
    let Some(folder) = folder(env!("CARGO_MANIFEST_DIR")).map(|kit| kit.join("uml")) else {
        skip("there is no ../shared/peers beside the repository");
        return None;
    };
    let needed = ["linux.uml", "pppd", "busybox", "python3", "modprobe", "ip", "cc"];
    let missing: Vec<&str> = needed.into_iter().filter(|it| !is_there(it)).collect();
    if !missing.is_empty() {
        let packages = "user-mode-linux ppp busybox-static python3 kmod iproute2 util-linux gcc libc6-dev";
        let missing = missing.join(", ");
        skip(&format!("pppd in user-mode Linux needs {missing}: apt-get install {packages}"));
        return None;
    }
    Some(folder)
}

/// lwIP's program, built once; `None` where it cannot be, after saying so.
pub(crate) fn lwip() -> Option<PathBuf> {
    let Some(folder) = folder(env!("CARGO_MANIFEST_DIR")).map(|kit| kit.join("lwip")) else {
        skip("there is no ../shared/peers beside the repository");
        return None;
    };
    // One test builds it for all.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lwip");
    let program = out.join("lwip-peer");
    if !program.is_file() {
        fs::create_dir_all(&out).unwrap();
        let built = Command::new(folder.join("build.sh")).arg(&out).stdin(Stdio::null()).output();
        let has_built = built.as_ref().is_ok_and(|built| built.status.success());
        if !has_built || !program.is_file() {
            let said =
                built.map_or_else(|why| why.to_string(), |built| String::from_utf8_lossy(&built.stderr).into_owned());
            let last = said.lines().last().unwrap_or_default();
            // Its sources come over the network, which not everybody has: no reason to fail, whatever was asked for.
            println!("skipped: lwIP cannot be built here: {last}");
            return None;
        }
    }
    Some(program)
}

/// A file with this text, which anybody may read.
pub(crate) fn file(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = folder.path(name);
    fs::write(&path, text).unwrap();
    path
}

/// A file of secrets as an option.
pub(crate) fn secrets(folder: &Folder, text: &str) -> String {
    folder.write("secrets", text.as_bytes());
    format!("--secrets {}", folder.path("secrets").display())
}

/// pppd in user-mode Linux at the other end of the socket `line`; `after` is what the guest runs once IPCP is open.
pub(crate) fn pppd(kit: &Path, line: &str, options: &str, after: Option<&Path>) -> Running {
    let mut command = Command::new(kit.join("ppp-peer.sh"));
    command.arg(line).args(options.split_whitespace());
    // The log of pppd comes with the rest.
    command.env("TIMEOUT", "60").stdin(Stdio::null()).stderr(Stdio::null());
    if let Some(after) = after {
        command.env("AFTER", after);
    }
    Running::peer(command)
}

/// `kumiki ppp` with JSON.
pub(crate) fn kumiki(line: &str, options: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.args(["ppp", line, "--json", "-v"]);
    command.args(options.split_whitespace()).stdin(Stdio::null());
    Running::peer(command)
}

/// The events of this kind in what `kumiki` has said.
pub(crate) fn events(said: &str, kind: &str) -> Vec<Value> {
    let lines = said.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter(|event: &Value| event["event"] == kind).collect()
}

/// The log in words.
pub(crate) fn log(said: &str) -> String {
    let texts = events(said, "log");
    let texts = texts.iter().filter_map(|event| event["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
