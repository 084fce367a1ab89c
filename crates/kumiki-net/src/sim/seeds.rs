//! Many seeds of one test, and what a failing one leaves behind.

use core::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use super::Net;

/// The environment variable with the one seed that is to be run.
const SEED: &str = "KUMIKI_SEED";

/// Runs `test` on a network of each of these seeds.
///
/// A seed that fails (by a panic) is run once more, to see whether it fails alike, and then the panic goes on. What is
/// printed says how to run that seed alone: with the environment variable `KUMIKI_SEED` there are no other seeds. The
/// second run leaves as text what all sockets were doing when the network stood still for the last time, and with the
/// feature `capture` a capture of all hosts, in the folder that the environment variable `KUMIKI_CAPTURES` names;
/// unless it is set, in `kumiki` in the build folder that the running program is from (`target`), or in `target/kumiki`
/// below the current folder where it is from none. The whole paths are printed.
///
/// ```
/// use kumiki_net::sim::{self, Link};
///
/// sim::for_seeds(0..10, |net| {
///     net.set_link(&Link::new().loss(0.05));
///     net.host("client").run(async { /* what is to hold with every seed */ }).unwrap();
/// });
/// ```
///
/// # Panics
/// As `test` does; and where `KUMIKI_SEED` is no number.
pub fn for_seeds(seeds: impl IntoIterator<Item = u64>, test: impl Fn(&Net)) {
    for_seeds_with(seeds, Net::new, test);
}

/// As [`for_seeds`], on networks that `make` makes of the seeds: of hosts that are the same in several tests, or with
/// something [between](Net::with) them.
///
/// # Panics
/// As [`for_seeds`]; and as `make` does.
pub fn for_seeds_with(seeds: impl IntoIterator<Item = u64>, make: impl Fn(u64) -> Net, test: impl Fn(&Net)) {
    if let Ok(text) = std::env::var(SEED) {
        match text.parse() {
            Ok(seed) => return run(seed, &make, &test),
            Err(_) => panic!("{SEED} is \"{text}\", expected a seed: a whole number"),
        }
    }
    for seed in seeds {
        run(seed, &make, &test);
    }
}

fn run(seed: u64, make: &impl Fn(u64) -> Net, test: &impl Fn(&Net)) {
    let net = make(seed);
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(&net))) else {
        net.forget_programs();
        return;
    };
    eprintln!("seed {seed} failed at {:?} of virtual time; to run it alone: {SEED}={seed}", net.elapsed());
    eprintln!("it is run once more, to see whether it fails alike:");
    let again = make(seed);
    again.0.last_sockets.replace(Some(String::new()));
    #[cfg(feature = "capture")]
    again.set_capture(true);
    let fails_again = catch_unwind(AssertUnwindSafe(|| test(&again))).is_err();
    if !fails_again || again.digest() != net.digest() {
        eprintln!(
            "seed {seed} ran otherwise when it was run again: something differs from run to run that is not of the network; see \"What would \
             make two runs differ\" in the documentation of kumiki_net::sim"
        );
    }
    let sockets = again.0.last_sockets.take().unwrap_or_default();
    leave("what all sockets were doing", &file(seed, "txt"), |out| io::Write::write_all(out, sockets.as_bytes()));
    #[cfg(feature = "capture")]
    leave("what all hosts sent and got", &file(seed, "pcapng"), |out| again.write_capture(out));
    net.forget_programs();
    again.forget_programs();
    resume_unwind(panic);
}

impl Net {
    /// Programs may keep the network that keeps them.
    fn forget_programs(&self) {
        let programs: Vec<_> =
            self.hosts().iter().map(|host| host.with(|it| core::mem::take(&mut it.programs))).collect();
        drop((programs, self.0.plan.take()));
    }
}

/// What cargo keeps in a build folder: the one always, the other where it has made the folder.
const MARKS: [&str; 2] = [".rustc_info.json", "CACHEDIR.TAG"];

fn is_build_folder(folder: &Path) -> bool {
    MARKS.iter().any(|mark| folder.join(mark).is_file())
}

/// Below the build folder: tests begin in the folder of their package, whose own `target` nobody would look at.
fn own_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let built = program.ancestors().find(|it| is_build_folder(it));
    built.unwrap_or_else(|| Path::new("target")).join("kumiki")
}

/// Where something of a seed is left: where the next person finds it.
fn file(seed: u64, kind: &str) -> PathBuf {
    let folder = std::env::var_os("KUMIKI_CAPTURES").map_or_else(own_folder, PathBuf::from);
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
    folder.join(format!("{name}-{seed}.{kind}"))
}

fn leave(what: &str, file: &Path, write: impl FnOnce(&mut io::BufWriter<File>) -> io::Result<()>) {
    let written = file
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| File::create(file))
        .and_then(|out| write(&mut io::BufWriter::new(out)));
    match written {
        Ok(()) => eprintln!("{what}: {}", file.display()),
        Err(error) => eprintln!("{}: {error}", file.display()),
    }
}

impl Net {
    /// Keeps what the sockets of all hosts are doing, a host after the other, where that is wanted.
    pub(super) fn note_sockets(&self) {
        if self.0.last_sockets.borrow().is_none() {
            return;
        }
        let mut text = format!("seed {}, {:?} of virtual time\n", self.seed(), self.elapsed());
        for host in self.hosts() {
            let addresses: Vec<String> = host.addresses().iter().map(ToString::to_string).collect();
            let down = if host.is_down() { ", which is down" } else { "" };
            let _ = write!(text, "\n{} ({}){down}\n{}", host.name(), addresses.join(", "), host.netstat());
        }
        self.0.last_sockets.replace(Some(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TcpListener, TcpStream};

    #[test]
    fn what_is_left_is_in_the_build_folder_by_its_whole_path() {
        let folder = own_folder();
        assert!(folder.is_absolute() && is_build_folder(folder.parent().unwrap()), "{folder:?}");
    }

    #[test]
    fn what_all_sockets_were_doing_is_told_of_each_host() {
        let net = Net::new(7);
        net.0.last_sockets.replace(Some(String::new()));
        net.host("server").start(async || {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            core::future::pending::<()>().await;
            drop(listener);
        });
        net.host("gone").crash();
        let client = net.host("client");
        // What fails has its sockets yet, and nobody has them after it.
        let fails = catch_unwind(AssertUnwindSafe(|| {
            client.run(async {
                let called = TcpStream::connect("server:80").await.unwrap();
                crate::sim::time::sleep(core::time::Duration::from_secs(1)).await;
                panic!("{}", called.local_addr().unwrap());
            })
        }));
        let panic = fails.err().unwrap();
        let local = panic.downcast_ref::<String>().unwrap();
        let told = net.0.last_sockets.take().unwrap();
        assert!(told.starts_with("seed 7, 1."), "{told}");
        let of = |name: &str| told.split("\n\n").find(|it| it.starts_with(name)).unwrap().to_owned();
        assert!(of("server (").contains("LISTEN") && of("server (").contains("ESTABLISHED"), "{told}");
        assert!(of("client (").contains(local.as_str()), "{told}");
        assert!(of("gone (").contains("), which is down\n"), "{told}");
    }
}
