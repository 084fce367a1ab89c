//! What is written of a connection, and who can read it.

use super::harness::{Daemon, Folder, system};

#[test]
fn a_capture_is_read_without_a_remark() {
    let folder = Folder::new("capture");
    let files: [&str; 4] = ["F-INITIALIZE request", "F-WRITE", "F-TRANSFER-END", "F-TERMINATE"];
    let packets = ["CALL", "CLEAR", "RR", "F-INITIALIZE request", "F-WRITE", "F-TERMINATE"];
    for (carrier, layer, query, parts) in
        [("--listen", "tpkt", "", &files[..]), ("--xot", "xot", "?carrier=xot&x121=1", &packets[..])]
    {
        let mut options = vec!["--anonymous", "--pcap", "theirs.pcapng"];
        if carrier == "--xot" {
            options.extend(["--x121", "1"]);
        }
        let daemon = Daemon::on(&folder, carrier, &options);
        folder.write("a", &vec![7; 100_000]);
        let url = daemon.url(&format!("x{query}"));
        folder.ftam(&["put", "a", &url, "--pcap", "ours.pcapng"]).well();
        let port = format!("{}={layer}", daemon.port());
        daemon.stop();
        for file in ["ours.pcapng", "theirs.pcapng"] {
            let decode = |more: &str| folder.kumiki(&["decode", file, "--port", &port, more]).well().out;
            let all = decode("--json");
            let shown = decode("--verbose");
            for part in parts {
                assert!(shown.contains(part), "{file} of {carrier}: no {part}");
            }
            assert!(!all.is_empty());
            assert_eq!(decode("--bad"), "", "{file} of {carrier}");
        }
        tshark(&folder, layer);
        let _ = std::fs::remove_file(folder.path("root/x"));
    }
}

/// Wireshark has nothing against it either.
fn tshark(folder: &Folder, layer: &str) {
    let file = folder.path("ours.pcapng").display().to_string();
    let port = format!("tcp.port==1-65535,{layer}");
    let only = "_ws.malformed || _ws.expert.severity == error || tcp.checksum.status == 0";
    let arguments =
        ["-r", &file, "-d", &port, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", only];
    match system("tshark", &arguments) {
        Some(output) if output.status.success() => {
            let shown = String::from_utf8(output.stdout).unwrap();
            assert_eq!(shown, "");
        }
        other => {
            let why = "tshark is absent or does not take this capture";
            assert!(std::env::var_os("KUMIKI_REQUIRE_TSHARK").is_none(), "{why}: {other:?}");
            eprintln!("skipped: {why}");
        }
    }
}
