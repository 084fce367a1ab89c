//! The peers: programs beside the repository, started for one test and ended with it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The folder of the peers, beside the repository; whoever runs the tests may have none.
fn kit() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = here.ancestors().map(|above| above.join("shared/peers"));
    folders.find(|folder| folder.is_dir())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(system);
    // A program that this user may not read is as good as none: Debian's pppd is for the group dip.
    folders.any(|folder| fs::File::open(folder.join(program)).is_ok())
}

/// Why a test goes without its peer; it fails where somebody has asked for peers.
pub(crate) fn skip(why: &str) {
    let is_required = std::env::var("KUMIKI_REQUIRE_PPP").is_ok_and(|it| !it.is_empty());
    assert!(!is_required, "KUMIKI_REQUIRE_PPP is set, and {why}");
    println!("skipped: {why}");
}

/// The folder of pppd in user-mode Linux; `None` where it cannot start, after saying so.
pub(crate) fn pppd_kit() -> Option<PathBuf> {
    let Some(folder) = kit().map(|kit| kit.join("uml")) else {
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
    let Some(folder) = kit().map(|kit| kit.join("lwip")) else {
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

/// A folder for one test; removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("kumiki-ppp-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with this text, which anybody may read.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A file of secrets, of its owner alone, as an option.
    pub(crate) fn secrets(&self, text: &str) -> String {
        let path = self.file("secrets", text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        format!("--secrets {}", path.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that was started; it is told to end with the test.
pub(crate) struct Running {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
    /// All that it has printed so far.
    pub(crate) said: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        kumiki_watchdog::minute();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().map(BufReader::new);
        Self { child, output, said: String::new() }
    }

    /// Reads until a line has `text` in it; panics where there is none.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let output = self.output.as_mut().unwrap();
        loop {
            kumiki_watchdog::minute();
            let mut line = String::new();
            let read = output.read_line(&mut line).unwrap();
            assert!(read > 0, "{text:?} was never said:\n{}", self.said);
            self.said.push_str(&line);
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits for its end; its status, and all that it has said.
    pub(crate) fn end(mut self) -> (i32, String) {
        kumiki_watchdog::minute();
        let mut output = self.output.take().unwrap();
        output.read_to_string(&mut self.said).unwrap();
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), core::mem::take(&mut self.said))
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end.
    pub(crate) fn ask_to_end(&self) {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.ask_to_end();
            let _ = self.child.wait();
        }
    }
}

/// pppd in user-mode Linux at the other end of the socket `line`; `after` is what the guest runs once IPCP is open.
pub(crate) fn pppd(kit: &Path, line: &str, options: &str, after: Option<&Path>) -> Running {
    let mut command = Command::new(kit.join("ppp-peer.sh"));
    command.arg(line).args(options.split_whitespace());
    // The log of pppd comes with the rest.
    command.env("TIMEOUT", "60").stderr(Stdio::null());
    if let Some(after) = after {
        command.env("AFTER", after);
    }
    Running::start(&mut command)
}

/// `kumiki ppp` with JSON.
pub(crate) fn kumiki(line: &str, options: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    command.args(["ppp", line, "--json", "-v"]);
    command.args(options.split_whitespace());
    Running::start(&mut command)
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
