//! With lwIP.

use std::process::{Command, Stdio};

use super::peers::{self, Folder, Running, kumiki, lwip};
use super::{connection, ended_well};

const OCTETS: u64 = 5_000_000;

/// lwIP's program at the other end of the socket `line`.
fn peer(program: &std::path::Path, line: &str, options: &str) -> Running {
    let mut command = Command::new(program);
    command.arg(line).args(options.split_whitespace());
    Running::peer(command.stdin(Stdio::null()).stderr(Stdio::null()))
}

/// Octets go to lwIP's echo and come back, and both ends agree on what and who.
fn echoes(name: &str, ours: &str, secrets: &str, theirs: &str) -> String {
    let Some(program) = lwip() else {
        return String::new();
    };
    let folder = Folder::new(name);
    let path = folder.path("line");
    let mut waiting = kumiki(
        &format!("listen:{}", path.display()),
        &format!("{ours} {} --run source --to 7 --bytes {OCTETS}B", peers::secrets(&folder, secrets)),
    );
    waiting.wait_for("waiting");
    let peer = peer(&program, &format!("connect:{}", path.display()), theirs);
    let (end, said) = ended_well(waiting);
    let peer = peer.end().out;
    let talk = connection(&said);
    assert_eq!(talk["received"], OCTETS, "{talk}");
    assert_eq!(talk["received_sha256"], talk["sent_sha256"], "{talk}");
    assert!(peer.contains("PEER up"), "{peer}");
    let bad = ["bad_fcs", "aborts", "runts", "oversize"].map(|key| end[key].as_u64());
    assert_eq!(bad, [Some(0); 4], "{said}");
    peer
}

#[test]
fn lwip_as_a_server_that_challenges_us() {
    echoes("lwip-server", ":", "kumiki secret", "server chap our=10.7.0.2 his=10.7.0.1 name=kumiki secret=secret vj=0");
}

#[test]
fn lwip_as_a_client_that_we_ask_for_a_password() {
    echoes(
        "lwip-client",
        "10.7.0.1:10.7.0.2 --name gateway --auth pap",
        "kumiki secret",
        "client pap name=kumiki secret=secret vj=0",
    );
}
