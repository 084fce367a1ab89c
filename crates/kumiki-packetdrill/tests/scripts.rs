//! Scripts in packetdrill's notation, by packetdrill, against the shared object.
//!
//! The program is somebody else's: `KUMIKI_PACKETDRILL` names it. Where it does not, these tests are left out and say
//! so.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that is set up wrongly fails")]

use std::path::{Path, PathBuf};
use std::process::Command;

use kumiki_watchdog::process::{ProcessOutput, Running};

/// Both versions of IP, as packetdrill says them.
const VERSIONS: [[&str; 4]; 2] = [
    ["--ip_version=ipv4", "--local_ip=192.168.0.1", "--remote_ip=192.0.2.1", "--mtu=1500"],
    // Segments as long as over IPv4.
    ["--ip_version=ipv6", "--local_ip=fd3d:fa7b:d17d::1", "--remote_ip=2001:db8::1", "--mtu=1520"],
];

/// The program; none where nobody has named one.
fn packetdrill() -> Option<PathBuf> {
    let named = std::env::var_os("KUMIKI_PACKETDRILL").filter(|it| !it.is_empty());
    if named.is_none() {
        println!("skipped: KUMIKI_PACKETDRILL names no packetdrill");
    }
    named.map(PathBuf::from)
}

/// The shared object, which is built with this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let library = own.ancestors().nth(2).unwrap().join("libkumiki_packetdrill.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

fn run(program: &Path, version: [&str; 4], flags: &str, script: &str) -> ProcessOutput {
    let library = library();
    let mut command = Command::new(program);
    command
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts"))
        // It stands for the C library's `getsockopt`, too.
        .env("LD_PRELOAD", &library)
        .arg(format!("--so_filename={}", library.display()))
        .arg(format!("--so_flags={flags}"))
        .args(version)
        .args(["--send_omit_free", script]);
    Running::start(command).end()
}

/// The scripts in order whose names begin with `fails`, or do not.
fn scripts(fail: bool) -> Vec<String> {
    let all = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts")).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("fails") == fail).collect();
    names.sort();
    names
}

#[test]
fn scripts_pass_over_both_versions_of_ip() {
    let Some(program) = packetdrill() else {
        return;
    };
    for script in scripts(false) {
        for (version, mtu) in VERSIONS.into_iter().zip([1500, 1520]) {
            let flags = format!("linux timestamps=false window_scaling=false mtu={mtu}");
            println!("{script} {}", version[0]);
            run(&program, version, &flags, &script).well();
        }
    }
}

#[test]
fn what_does_not_come_is_told_with_the_state_of_the_connection() {
    let Some(program) = packetdrill() else {
        return;
    };
    run(&program, VERSIONS[0], "linux", "fails-silent.pkt").failed(
        1,
        &[
            "fails-silent.pkt:9: ",
            "kumiki: waited for a packet from 0.1",
            "no timer runs that could bring it",
            "192.168.0.1:8080 - 192.0.2.1:",
            "is in ESTABLISHED: congestion window 10000",
        ],
    );
}

#[test]
fn what_is_wrong_with_the_flags_is_told() {
    let Some(program) = packetdrill() else {
        return;
    };
    let ran = run(&program, VERSIONS[0], "linux sack=perhaps", "serve.pkt");
    ran.failed(1, &["kumiki: --so_flags: sack is `perhaps`; expected true or false"]);
}
