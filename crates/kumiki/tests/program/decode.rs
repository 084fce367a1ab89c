//! `kumiki decode` from outside: what our own captures show, exit statuses, and where messages go.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kumiki_watchdog::peers::tshark_fields;

fn kumiki(arguments: &[&str], input: &[u8]) -> Output {
    kumiki_watchdog::minute();
    let mut child = Command::new(env!("CARGO_BIN_EXE_kumiki"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refused command line does not wait for its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).unwrap()
}

/// UDP from port 1024 to 9 with the data "hello", its header checksum wrong by one.
const DATAGRAM: &str = "45 00 00 21 00 00 00 00 40 11 66 cb 0a 00 00 01 0a 00 00 02\n\
                        04 00 00 09 00 0d 00 00 68 65 6c 6c 6f\n";

#[test]
fn text_from_standard_input_is_decoded_and_the_guess_is_told_aside() {
    let output = kumiki(&["decode", "-"], DATAGRAM.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        "    1  10.0.0.1 > 10.0.0.2  UDP 1024 > 9 length 13 no checksum  5 octets of data  \
         !! header checksum is 0x66cb, the octets give 0x66ca\n"
    );
    assert_eq!(text(&output.stderr), "kumiki: standard input: read as hex (it is text of hexadecimal digits)\n");
}

/// A Configure-Request and nothing else, as a recorder of a serial line leaves it.
#[test]
fn the_octets_of_a_serial_line_are_read_as_ppp() {
    let line = [
        0x7e, 0xff, 0x03, 0xc0, 0x21, 0x01, 0x01, 0x00, 0x0a, 0x05, 0x06, 0x7d, 0x5e, 0x7d, 0x5d, 0x12, 0x34, 0xaf,
        0x3d, 0x7e,
    ];
    let output = kumiki(&["decode", "-"], &line);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(shown.contains("LCP ConfReq id 1 <magic 0x7e7d1234>"), "{shown}");
    assert!(text(&output.stderr).contains("read as hdlc, first layer ppp"));
}

#[test]
fn a_tree_names_every_field_and_json_is_one_object_a_line() {
    let tree = text(&kumiki(&["decode", "-v", "--as", "ip", "-"], DATAGRAM.as_bytes()).stdout);
    for line in [
        "        8    1  time to live           64",
        "       20    2  source port            1024",
        "    !! header checksum is 0x66cb, the octets give 0x66ca",
        "    0001c  68 65 6c 6c 6f                                   hello",
    ] {
        assert!(tree.lines().any(|found| found == line), "{line}\n{tree}");
    }
    let json = text(&kumiki(&["decode", "--json", "--as", "ip", "-"], DATAGRAM.repeat(2).as_bytes()).stdout);
    assert_eq!(json.lines().count(), 1);
    let twice = format!("{DATAGRAM}\n{DATAGRAM}");
    let json = text(&kumiki(&["decode", "--json", "-"], twice.as_bytes()).stdout);
    assert_eq!(json.lines().count(), 2);
    assert!(json.starts_with("{\"packet\":1,") && json.contains("\"hex\":\"68656c6c6f\""), "{json}");
}

#[test]
fn packets_can_be_chosen() {
    let three = format!("{DATAGRAM}\n{DATAGRAM}\n{DATAGRAM}");
    let lines = |more: &[&str]| {
        let output = kumiki(&[&["decode", "-"], more].concat(), three.as_bytes());
        assert_eq!(output.status.code(), Some(0));
        text(&output.stdout).lines().count()
    };
    assert_eq!(lines(&[]), 3);
    assert_eq!(lines(&["--count", "2"]), 2);
    assert_eq!((lines(&["--only", "udp"]), lines(&["--only", "tcp"])), (3, 0));
    assert_eq!((lines(&["--bad"]), lines(&["--only", "tcp", "--only", "ipv4"])), (3, 3));
}

#[test]
fn a_wrong_input_is_2_and_one_that_breaks_off_is_1() {
    for (arguments, input, message) in [
        (&["decode", "none.pcap"][..], &b""[..], "kumiki: none.pcap: no such file or directory\n"),
        (&["decode", "-"], b"", "kumiki: standard input: the file is empty\n"),
        (&["decode", "--as", "tpc", "-"], b"", "kumiki: --as tpc: no such layer; one of\n  ethernet "),
        (&["decode", "--format", "cap", "-"], b"", "kumiki: --format cap: no such format; one of pcap, pcapng"),
        (&["decode", "--channel", "100", "-"], b"", "kumiki: --channel 100: not a virtual channel and a layer"),
        (
            &["decode", "--port", "tpkt", "-"],
            b"",
            "kumiki: --port tpkt: not a port of TCP and a layer, as in 10102=tpkt",
        ),
        (&["decode", "-"], b"\0\0\0\0", "kumiki: standard input: this is neither a capture"),
        (
            &["decode", "-"],
            b"\xd4\xc3\xb2\xa1\x02\0",
            "kumiki: standard input: pcap, packet 1: the file ends at octet 6",
        ),
    ] {
        let output = kumiki(arguments, input);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let found = text(&output.stderr);
        assert!(found.starts_with(message), "{found}");
    }
    // One cell and a part of the next: the first is shown.
    let output = kumiki(&["decode", "--as", "cells", "-"], &[0; 60]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(text(&output.stderr).contains("raw, packet 2: the file ends at octet 60"));
}

/// A short run of paper 2's hosts with every layer on record; its captures, one for each host.
/// 4.3BSD begins with one segment, whose acknowledgment waits for the beat of 200 ms.
fn captures(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let set = ["board=zero", "window=64 KiB", "run.warm_up=0 s", "run.duration=220 ms"];
    let mut arguments = vec!["run", "paper2-fig6", "--pcap=all", "--out"];
    arguments.push(folder.to_str().unwrap());
    for value in set {
        arguments.extend(["--set", value]);
    }
    let output = kumiki(&arguments, b"");
    assert!(output.status.success(), "{output:?}");
    let mut found = Vec::new();
    let mut folders = vec![folder.join("captures")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "pcapng") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn our_own_captures_hold_no_mistakes_and_are_read_as_tshark_reads_them() {
    let captures = captures("decode-own");
    assert!(captures.len() >= 2, "{captures:?}");
    for capture in &captures {
        let capture = capture.to_str().unwrap();
        let bad = kumiki(&["decode", "--bad", capture], b"");
        assert_eq!((bad.status.code(), text(&bad.stdout).as_str()), (Some(0), ""));
        let ours = kumiki(&["decode", "--json", "--only", "tcp", capture], b"");
        let ours = text(&ours.stdout);
        assert!(!ours.contains("\"verbatim\":false"));
        let fields = ["tcp.srcport", "tcp.seq_raw", "tcp.flags", "tcp.checksum"];
        let Some(theirs) = tshark_fields(capture, &["-Y", "tcp"], &fields) else {
            return;
        };
        assert!(theirs.len() > 20);
        assert_eq!(ours.lines().count(), theirs.len());
        for (ours, theirs) in ours.lines().zip(&theirs) {
            let names = ["source port", "sequence number", "control bits", "checksum"];
            let tcp = &ours[ours.find("\"protocol\":\"tcp\"").unwrap()..];
            for (name, theirs) in names.iter().zip(theirs) {
                let theirs = match theirs.strip_prefix("0x") {
                    Some(digits) => u64::from_str_radix(digits, 16).unwrap().to_string(),
                    None => theirs.clone(),
                };
                let wanted = format!("{{\"name\":\"{name}\",\"value\":{theirs},");
                assert!(tcp.contains(&wanted), "{wanted} in {ours}");
            }
        }
    }
}
