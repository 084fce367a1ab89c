//! A whole transfer with accurate feedback, as tshark reads it: no option is malformed, all sums are right, and the
//! counters are what came.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::capture;
use kumiki_lab::experiment::Run;

use crate::arrange::{run_captured, tshark};

/// `{IP}` is the layer below TCP, `{NEAR}` and `{FAR}` what it is told. The path marks, and loses a little.
const MARKING: &str = r#"
title = "A path that marks"
[host.near]
graph = ["source", "tcp", "{IP}", "p2p0"]
{IP} = { address = "{NEAR}" }
tcp = { ecn = "accurate" }
[host.far]
graph = ["sink", "tcp", "{IP}", "p2p0"]
{IP} = { address = "{FAR}" }
tcp = { ecn = "passive" }
[link.line]
ends = ["near.p2p0", "far.p2p0"]
medium = "point-to-point"
rate = "20 Mb/s"
propagation = "5 ms"
queue_frames = 40
mark_frames = 10
impair = { mark = 0.03, loss = 0.003 }
[run]
duration = "30 s"

[load.bulk]
from = "near.source"
to = "far.sink"
kind = "ttcp"
message = "8 KiB"
count = 300
"#;

const FIELDS: [&str; 14] = [
    "frame.packet_flags",
    "tcp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
    "_ws.expert.message",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
    "tcp.len",
    "tcp.flags.syn",
    "tcp.flags.ace",
    "tcp.options.acc_ecn.ee0b",
    "tcp.options.acc_ecn.eceb",
    "tcp.options.acc_ecn.ee1b",
    "tcp.options.acc_ecn",
];

/// What tshark may say about conversations on such a path.
const ALLOWED: [&str; 9] = [
    "Connection establish",
    "Connection finish",
    "Duplicate ACK",
    "This frame is a (suspected) ",
    "Previous segment(s) not captured",
    "TCP window update",
    "This frame initiates the connection closing",
    "This frame undergoes the connection closing",
    // It adds those before the timestamps and those behind a short option with counters, which Linux places alike.
    "4 NOP in a row",
];

fn number(text: &str) -> u32 {
    text.parse().unwrap_or(0)
}

/// What has come to a host, counted from the capture alone.
#[derive(Debug)]
struct Came {
    ce: u32,
    /// Octets with ECT(0), with CE and with ECT(1), and the beginnings of their counters.
    octets: [u32; 3],
}

/// Judges what one host says by what came to it before. How many marks came, and how many options were sent.
fn judged(rows: &[Vec<String>], is_client: bool) -> (u32, usize) {
    let mut came = Came { ce: 0, octets: [1, 0, 1] };
    let (mut options, mut sent) = (0, 0);
    for row in rows {
        assert_eq!((row[1].as_str(), row[3].as_str()), ("1", ""), "{row:?}");
        assert!(["", "1"].contains(&row[2].as_str()), "{row:?}");
        for remark in row[4].split(';').filter(|remark| !remark.is_empty()) {
            let known = ALLOWED.iter().any(|allowed| remark.starts_with(allowed));
            assert!(known, "{remark}: {row:?}");
        }
        let (syn, ace) = (row[8] == "1", number(&row[9]));
        let ecn = number(&row[5]) | number(&row[6]);
        if row[0] == "0x00000001" {
            came.ce += u32::from(ecn == 3 && (is_client || !syn));
            let place = [None, Some(2), Some(0), Some(1)][ecn as usize];
            if let (Some(place), false) = (place, syn) {
                came.octets[place] += number(&row[7]);
            }
            continue;
        }
        sent += 1;
        // A client's second segment is the acknowledgment of the SYN,ACK, which tells how that came.
        if syn || is_client && sent == 2 {
            continue;
        }
        assert_eq!(ace, (5 + came.ce) % 8, "{came:?}: {row:?}");
        options += usize::from(!row[13].is_empty());
        for (text, octets) in row[10..13].iter().zip(came.octets) {
            assert!(text.is_empty() || number(text) == octets, "{came:?}: {row:?}");
        }
    }
    (came.ce, options)
}

fn ran(ip: &str, addresses: [&str; 2]) -> Run {
    let text = MARKING.replace("{IP}", ip).replace("{NEAR}", addresses[0]).replace("{FAR}", addresses[1]);
    run_captured(&text)
}

#[test]
fn tshark_finds_every_counter_of_a_transfer_right() {
    for (ip, addresses) in [("ip", ["10.0.0.1/24", "10.0.0.2/24"]), ("ipv6", ["fd00::1/64", "fd00::2/64"])] {
        let run = ran(ip, addresses);
        for host in &run.captured {
            let octets = capture::pcapng(core::slice::from_ref(host), Vec::new()).unwrap();
            let name = format!("accurate-{ip}-{}", host.host);
            let Some(rows) = tshark(&name, &octets, &FIELDS) else {
                return;
            };
            let of_tcp: Vec<Vec<String>> = rows.into_iter().filter(|row| !row[7].is_empty()).collect();
            let is_client = host.host == "near";
            let (marks, options) = judged(&of_tcp, is_client);
            println!("{ip} {}: {} segments, {marks} marks, {options} options", host.host, of_tcp.len());
            assert!(of_tcp.len() > 2000);
            // Acknowledgments cannot be marked, and the client hears nothing else; its own options are the first.
            assert_eq!(marks > 20, !is_client, "{marks}");
            assert!(options > if is_client { 0 } else { 500 }, "{options}");
        }
    }
}
