//! LAPB, X.25 and XOT: tshark reads the captures of Linux's kernel and of xotpad as we do.

use std::path::Path;

use kumiki_decode::capture::Link;
use kumiki_decode::{Decoder, show};

use super::arrange::{bad, record, value};
use super::judge::{Pair, compare, ours, pcap};

const FIELDS: [Pair; 13] = [
    ("lapb.address", "lapb", "address"),
    ("lapb.control", "lapb", "control"),
    ("lapb.control.n_r", "lapb", "n(r)"),
    ("lapb.control.n_s", "lapb", "n(s)"),
    ("x25.gfi", "x25", "gfi"),
    ("x25.p_s", "x25", "p(s)"),
    ("x25.p_r", "x25", "p(r)"),
    ("x25.called_address", "x25", "called"),
    ("x25.calling_address", "x25", "calling"),
    ("x25.facility.packet_size.called_dte", "x25", "packet size code, called"),
    ("x25.facility.packet_size.calling_dte", "x25", "packet size code, calling"),
    ("x25.window_size.called_dte", "x25", "window, called"),
    ("x25.window_size.calling_dte", "x25", "window, calling"),
];

fn capture(name: &str) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = root.skip(3).take(2);
    let found = folders.find_map(|it| std::fs::read(it.join("shared/captures").join(name)).ok());
    if found.is_none() {
        println!("skipped: there is no ../shared/captures beside the repository");
    }
    found
}

#[test]
fn captures_of_linux_and_xotpad_are_read_as_tshark_reads_them() {
    for name in ["linux-kernel-lapb-x25.pcap", "xot-xotpad.pcap"] {
        let Some(file) = capture(name) else {
            continue;
        };
        compare(name, &file, &FIELDS);
        for packet in ours(&file) {
            // What sends text to the kernel there calls by the number of ISO transport, which is no mistake.
            assert_eq!(bad(&packet), [""; 0]);
        }
    }
}

fn hex(octets: &str) -> Vec<u8> {
    let digits: Vec<u8> = octets.chars().filter_map(|c| c.to_digit(16)).map(|it| u8::try_from(it).unwrap()).collect();
    let pairs = digits.chunks(2);
    pairs.map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A frame of LAPB in one of Ethernet.
fn frame(octets: &str) -> Vec<u8> {
    let octets = hex(octets);
    let length = u8::try_from(octets.len()).unwrap();
    let mut frame = [0xff; 6].to_vec();
    frame.extend([2, 0, 0, 0, 0, 1, 0x60, 0x00, length, 0]);
    frame.extend(octets);
    frame.resize(60, 0);
    frame
}

#[test]
fn what_no_capture_has_is_read_as_tshark_reads_it() {
    let frames = [
        // Addresses with type and plan, throughput and fast select.
        "01 00 90 02 0b 07 06 11 23 45 61 12 34 50 04 01 80 02 ad 01",
        "01 02 10 05 1b 05 91",
        "01 04 10 05 05",
        "01 06 10 05 49",
        "01 08 10 05 23 aa",
        "01 0a 10 05 13 09 f1",
        "01 0c 10 00 f1 24 10 99 0b",
        "01 15",
        "01 19",
        "03 53",
        "03 1f",
        "01 87 a1 56 08",
    ];
    let frames: Vec<Vec<u8>> = frames.iter().map(|it| frame(it)).collect();
    let fields = &FIELDS[..7];
    compare("x25.pcap", &pcap(1, &frames), fields);
}

/// As recorders of SITA's have it, and as Kumiki's captures of LAPB do.
#[test]
fn frames_behind_their_direction_are_read_as_tshark_reads_them() {
    let frames: [&[u8]; 2] = [&[3, 0x3f], &[1, 0, 0x10, 0, 0xfb, 0, 0]];
    let behind = |(received, frame): (u8, &[u8])| [&[received, 0, 0, 0, 1], frame].concat();
    let frames: Vec<Vec<u8>> = (0..).zip(frames).map(behind).collect();
    compare("sita.pcap", &pcap(196, &frames), &FIELDS[..5]);
}

#[test]
fn a_link_that_was_set_up_by_sabme_is_read_modulo_128() {
    let frames = [
        // A mode of 128 begins with its SABME, and ends with a SABM.
        "01 7f",
        "01 73",
        "01 02 05 10 00 fb 00 00",
        "03 05 09",
        "01 97 02 05 06 04 01",
        "01 3f",
        "01 22 10 00 ff",
    ];
    let frames: Vec<Vec<u8>> = frames.iter().map(|it| frame(it)).collect();
    let said: Vec<String> = ours(&pcap(1, &frames))
        .iter()
        .map(|packet| {
            assert_eq!(bad(packet), [""; 0]);
            let layers = packet.layers.iter();
            let mut of = layers.filter(|layer| ["lapb", "x25"].contains(&layer.protocol));
            let mut line = of.next().unwrap().summary.clone();
            for layer in of {
                line = format!("{line} / {}", layer.summary);
            }
            line
        })
        .collect();
    assert_eq!(
        said,
        [
            "LAPB 01 SABME P/F",
            "LAPB 01 UA P/F",
            "LAPB 01 I N(S)=1 N(R)=2 P/F / X.25 0 RESTART cause 00 diagnostic 0: DTE originated, no additional information",
            "LAPB 03 RNR N(R)=4 P/F",
            "LAPB 01 FRMR P/F",
            "LAPB 01 SABM P/F",
            "LAPB 01 I N(S)=1 N(R)=1 / X.25 0 RESTART CONFIRMATION",
        ]
    );
}

#[test]
fn packets_of_xot_are_put_together_from_segments() {
    use super::osi::segment_at;

    let packets = [
        "00 00 00 0b 10 01 0b 00 06 42 07 07 43 02 02",
        "00 00 00 13 10 01 f5 81 00 02 00 01 02 00 02 02 02 07 07 53 30 53 31",
        "00 00 00 05 10 01 00 61 62",
        "00 00 00 05 10 01 13 00 f1",
    ];
    let octets: Vec<u8> = packets.iter().flat_map(|it| hex(it)).collect();
    let told = |most: usize| -> Vec<String> {
        let mut seq = 1000;
        let mut segments = Vec::new();
        for data in octets.chunks(most) {
            segments.push(segment_at((49_152, 1998), true, seq, data));
            seq += u32::try_from(data.len()).unwrap();
        }
        let packets = ours(&pcap(1, &segments));
        assert_eq!(packets.iter().flat_map(bad).count(), 0, "{most}");
        let layers = packets.iter().flat_map(|packet| &packet.layers);
        let of = layers.filter(|layer| ["x25", "xot-pvc"].contains(&layer.protocol));
        of.map(|layer| layer.summary.clone()).collect()
    };
    let whole = told(1000);
    assert_eq!(whole.len(), 4);
    assert_eq!(whole[3], "X.25 1 CLEAR cause 00 diagnostic 241: DTE originated, disconnection, normal");
    for most in [1, 3, 7, 20] {
        assert_eq!(told(most), whole, "{most}");
    }
}

/// A network user identification is a password as often as not.
#[test]
fn that_there_is_an_nui_is_shown_and_what_it_is_only_when_asked() {
    let call = hex("10 01 0b 00 06 c6 04 68 75 73 68");
    let call = record(1, Link::Named("x25"), &call);
    let shown = value(&Decoder::new().decode(&call), "x25", "nui");
    assert_eq!(shown, "4 octets, not shown");
    let shown = value(&Decoder::new().showing_secrets().decode(&call), "x25", "nui");
    assert_eq!(shown, "hush");
}

/// A capture of XOT, each packet in a segment of its own, from the caller or to it.
fn xot(packets: &[(bool, &str)]) -> Vec<u8> {
    use super::osi::segment_at;

    let mut next = [1000, 5000];
    let mut segments = Vec::new();
    for (up, packet) in packets {
        let packet = hex(packet);
        let length = u16::try_from(packet.len()).unwrap().to_be_bytes();
        let data = [&[0, 0][..], &length, &packet].concat();
        let seq = &mut next[usize::from(!up)];
        segments.push(segment_at((49_152, 1998), *up, *seq, &data));
        *seq += u32::try_from(data.len()).unwrap();
    }
    pcap(1, &segments)
}

const CALL_OF_A_PAD: &str = "10 01 0b 45 12 34 59 00 10 06 42 07 07 43 02 02 01 00 00 00 68 69";

#[test]
fn pad_messages_are_read_as_tshark_reads_them() {
    let file = xot(&[
        (true, CALL_OF_A_PAD),
        (false, "10 01 0f"),
        (false, "90 01 00 06 01 01 02 00"),
        (true, "90 01 20 00 01 01 82 01"),
        (false, "90 01 22 02 0f 00"),
        (false, "90 01 24 04"),
        (true, "90 01 62 03 08 01"),
        (true, "90 01 64 05 01 50"),
        (false, "90 01 66 07 05 12 34 50 00"),
        (false, "10 01 68 68 65 6c 6c 6f"),
        (false, "90 01 6a 01"),
    ]);
    let fields = [
        FIELDS[4],
        FIELDS[5],
        ("x29.msg_code", "x29", "message code"),
        ("x29.error_type", "x29", "error type"),
        ("x29.inv_msg_code", "x29", "invalid message code"),
    ];
    compare("x29.pcap", &file, &fields);
    let packets = ours(&file);
    assert_eq!(packets.iter().flat_map(bad).count(), 0);
    let layers = packets.iter().flat_map(|packet| &packet.layers);
    let said: Vec<&str> = layers.filter(|layer| layer.protocol == "x29").map(|layer| layer.summary.as_str()).collect();
    assert_eq!(
        said,
        [
            "X.29 set and read 1:1, 2:0",
            "X.29 parameter indication 1:1, 2:1 not set",
            "X.29 set 15:0",
            "X.29 read",
            "X.29 indication of break 8:1",
            "X.29 error: message code not recognised (message code 80)",
            "X.29 reselection of 12345",
            "X.29 5 characters",
            "X.29 invitation to clear",
        ]
    );
}

#[test]
fn a_wrong_pad_message_is_remarked_on() {
    let file = xot(&[(true, CALL_OF_A_PAD), (false, "90 01 00 02 02")]);
    let packets = ours(&file);
    let bad: Vec<String> = packets.iter().flat_map(bad).collect();
    assert_eq!(bad[0], "x29: error type 2: parameter field incorrect or incompatible with the message code");
}

/// Of a call of ISO transport: its TPDUs, also one that takes two packets.
#[test]
fn a_call_is_known_by_its_user_data() {
    let call = "10 01 0b 45 12 34 59 00 10 06 42 07 07 43 02 02 03 01 01 00";
    let file = xot(&[
        (true, call),
        (false, "10 01 0f"),
        (true, "10 01 10 06 e0 00 00"),
        (true, "10 01 02 00 01 00"),
        (false, "10 01 40 06 d0 00 01 00 02 00"),
        // The same numbers, and another call.
        (true, CALL_OF_A_PAD),
        (true, "90 01 00 01"),
    ]);
    let packets = ours(&file);
    assert_eq!(packets.iter().flat_map(bad).count(), 0);
    let last = |at: usize| packets[at].layers.last().unwrap();
    assert_eq!(last(2).protocol, "x25");
    assert_eq!(last(3).protocol, "cotp");
    assert_eq!(packets[3].reassembled[0].parts, 2);
    assert_eq!(last(4).protocol, "cotp");
    assert_eq!(last(6).summary, "X.29 invitation to clear");
}

/// The lines of packets of X.25 without anything around them.
fn lines(packets: &[&str]) -> Vec<String> {
    let mut decoder = Decoder::new();
    let packets = (1..).zip(packets);
    let lines = packets.map(|(number, packet)| {
        let seen = record(number, Link::Named("x25"), &hex(packet));
        let packet = decoder.decode(&seen);
        let line = show::line(&seen, &packet, None);
        line.trim_start().to_owned()
    });
    lines.collect()
}

const CALL_OF_TRANSPORT: &str = "10 01 0b 22 12 34 00 03 01 01 00";

/// As a test program on Linux's AF_X25 does: its call has the user data of ISO transport, and it sends text.
#[test]
fn data_that_are_no_tpdu_are_no_mistake_where_only_the_call_said_so() {
    let said = lines(&[CALL_OF_TRANSPORT, "10 01 0f", "10 01 00 68 65 6c 6c 6f 30"]);
    assert_eq!(
        said[2],
        "3  X.25 1 DATA P(S)=0 P(R)=0  6 octets: no TPDU of class 0, although the call announced ISO 8073"
    );
}

/// A call that has had a TPDU is one of transport.
#[test]
fn what_is_no_tpdu_behind_one_is_a_mistake() {
    let said = lines(&[CALL_OF_TRANSPORT, "10 01 0f", "10 01 00 06 e0 00 00 00 01 00", "10 01 02 68 65 6c 6c 6f 30"]);
    assert_eq!(said[3], "4  X.25 1 DATA P(S)=1 P(R)=0; AK  6 octets not read  !! LI is 104 octets, expected 2 to 5");
}

#[test]
fn numbers_stay_in_the_line_whatever_a_packet_carries() {
    let file = pcap(
        1,
        &["01 3f", "03 00 10 01 0b 22 12 34 00 03 01 01 00", "01 20 10 01 0f", "03 22 10 01 20 06 e0 00 00 00 01 00"]
            .map(frame),
    );
    let packets = ours(&file);
    let line = show::line(&record(4, Link::Named("lapb"), &[]), packets.last().unwrap(), None);
    assert!(
        line.ends_with("LAPB 03 I N(S)=1 N(R)=1; X.25 1 DATA P(S)=0 P(R)=1; CR dst 0000 src 0001 class 0"),
        "{line}"
    );
}

/// The words of the standard, which the log of a switch has too.
#[test]
fn causes_and_diagnostics_are_told_in_words() {
    assert_eq!(
        lines(&["10 00 fb 07 00", "10 01 13 09 f1", "10 00 f1 24 10 99 0b"]),
        [
            "1  X.25 0 RESTART cause 07 diagnostic 0: network operational, no additional information",
            "2  X.25 1 CLEAR cause 09 diagnostic 241: out of order, disconnection, normal",
            "3  X.25 0 DIAGNOSTIC 36: packet on unassigned logical channel",
        ]
    );
}
