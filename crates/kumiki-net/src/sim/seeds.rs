//! Many seeds of one test, and what a failing one leaves behind.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
#[cfg(feature = "capture")]
use std::path::{Path, PathBuf};

use super::Net;

/// The environment variable with the one seed that is to be run.
const SEED: &str = "KUMIKI_SEED";

/// Runs `test` on a network of each of these seeds.
///
/// A seed that fails (by a panic) is run once more, to see whether it fails alike, and then the panic goes on. What is printed says how to run
/// that seed alone: with the environment variable `KUMIKI_SEED` there are no other seeds. With the feature `capture` the second run leaves
/// a capture of all hosts in the folder that the environment variable `KUMIKI_CAPTURES` names; unless it is set, in `kumiki` in the build
/// folder that the running program is from (`target`), or in `target/kumiki` below the current folder where it is from none. The whole path
/// is printed.
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

/// As [`for_seeds`], on networks that `make` makes of the seeds: of hosts that are the same in several tests, or with something
/// [between](Net::with) them.
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
    #[cfg(feature = "capture")]
    again.set_capture(true);
    let fails_again = catch_unwind(AssertUnwindSafe(|| test(&again))).is_err();
    if !fails_again || again.digest() != net.digest() {
        eprintln!(
            "seed {seed} ran otherwise when it was run again: something differs from run to run that is not of the network; see \"What would \
             make two runs differ\" in the documentation of kumiki_net::sim"
        );
    }
    #[cfg(feature = "capture")]
    leave(&again, seed);
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

/// Below the build folder, which cargo marks as one: tests begin in the folder of their package, whose own `target` nobody would look at.
#[cfg(feature = "capture")]
fn own_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let built = program.ancestors().find(|it| it.join("CACHEDIR.TAG").is_file());
    built.unwrap_or_else(|| Path::new("target")).join("kumiki")
}

/// Writes the capture where the next person finds it.
#[cfg(feature = "capture")]
fn leave(net: &Net, seed: u64) {
    let folder = std::env::var_os("KUMIKI_CAPTURES").map_or_else(own_folder, PathBuf::from);
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
    let file = folder.join(format!("{name}-{seed}.pcapng"));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::File::create(&file))
        .and_then(|out| net.write_capture(std::io::BufWriter::new(out)));
    match written {
        Ok(()) => eprintln!("what all hosts sent and got: {}", file.display()),
        Err(error) => eprintln!("{}: {error}", file.display()),
    }
}

#[cfg(all(test, feature = "capture"))]
mod tests {
    #[test]
    fn captures_are_left_in_the_build_folder_by_its_whole_path() {
        let folder = super::own_folder();
        assert!(folder.is_absolute() && folder.parent().unwrap().join("CACHEDIR.TAG").is_file(), "{folder:?}");
    }
}
