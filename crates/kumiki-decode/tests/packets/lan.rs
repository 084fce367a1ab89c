//! LLC on Ethernet and FDDI, beside tshark, and what is wrong with frames.

use kumiki_decode::capture::Link;
use kumiki_decode::{Decoder, Record};
use kumiki_wire::inet::ethernet::{self, MacAddr, TypeOrLength};
use kumiki_wire::inet::fddi::{self, Control};
use kumiki_wire::inet::llc::{self, function, sap};
use kumiki_wire::inet::llc_snap;

use super::arrange::{bad, decode, names, notes, plain, record, udp, value};
use super::judge::{compare, pcap};

const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// An IEEE 802.3 frame with these octets of LLC, filled up.
fn ieee(llc: &[u8]) -> Vec<u8> {
    let header = ethernet::Header {
        destination: B,
        source: A,
        type_or_length: TypeOrLength::Length(u16::try_from(llc.len()).unwrap()),
    };
    let mut out = vec![0; ethernet::LEN];
    header.emit(&mut out);
    out.extend(llc);
    out.resize(out.len().max(60), 0);
    out
}

fn fddi(control: Control, llc: &[u8]) -> Vec<u8> {
    let header = fddi::Header { control, destination: B, source: A };
    let mut out = vec![0; fddi::LEN];
    header.emit(&mut out);
    [out, llc.to_vec()].concat()
}

fn header(dsap: u8, ssap: u8, response: bool, control: llc::Control) -> Vec<u8> {
    let header = llc::Header { dsap, ssap, response, control };
    let mut out = vec![0; header.len()];
    header.emit(&mut out);
    out
}

fn unnumbered(function: u8, poll: bool) -> llc::Control {
    llc::Control::Unnumbered { function, poll }
}

fn snap(datagram: &[u8]) -> Vec<u8> {
    let mut out = vec![0; llc_snap::LEN];
    llc_snap::Header::IPV4.emit(&mut out);
    [out, datagram.to_vec()].concat()
}

/// Every kind of LLC that there is.
fn kinds() -> Vec<Vec<u8>> {
    let with = |header: Vec<u8>, data: &[u8]| [header, data.to_vec()].concat();
    let receive = |kind| llc::Control::Supervisory { kind, reserved: 0, nr: 5, poll: true };
    vec![
        snap(&plain(17, &udp(&[7; 20]))),
        with(header(0xaa, 0xaa, false, unnumbered(function::XID, true)), &llc::XID_CLASS_1),
        with(header(0xaa, 0xaa, true, unnumbered(function::XID, true)), &llc::XID_CLASS_1),
        with(header(0, 0xaa, false, unnumbered(function::TEST, false)), b"echo"),
        with(header(0xf0, 0xf0, false, unnumbered(function::UI, false)), b"name"),
        header(0xf0, 0xf0, false, unnumbered(function::SABME, true)),
        header(0xf0, 0xf0, true, unnumbered(function::UA, true)),
        with(header(0xf0, 0xf0, false, llc::Control::Information { ns: 3, nr: 4, poll: false }), b"data"),
        header(0xf0, 0xf0, true, receive(llc::Supervisory::ReceiveReady)),
        header(0xf0, 0xf0, false, receive(llc::Supervisory::Reject)),
    ]
}

#[test]
fn llc_on_ethernet_is_what_tshark_reads() {
    let frames: Vec<Vec<u8>> = kinds().into_iter().skip(1).map(|it| ieee(&it)).collect();
    for frame in &frames {
        let packet = decode("ethernet", frame);
        assert_eq!(names(&packet)[..2], ["ethernet", "llc"]);
        assert_eq!((bad(&packet), packet.layers[1].verbatim), (vec![], Some(true)));
    }
    let pairs =
        [("eth.dst", "ethernet", "destination"), ("eth.len", "ethernet", "length"), ("llc.dsap", "llc", "dsap")];
    compare("llc.pcap", &pcap(1, &frames), &pairs);
}

#[test]
fn fddi_is_what_tshark_reads() {
    let synchronous = Control::Llc { synchronous: true, priority: 0 };
    let mut frames: Vec<Vec<u8>> = kinds().into_iter().skip(1).map(|it| fddi(Control::ASYNCHRONOUS, &it)).collect();
    frames.push(fddi(synchronous, &kinds()[1]));
    for frame in &frames {
        let packet = decode("fddi", frame);
        assert_eq!(names(&packet)[..2], ["fddi", "llc"]);
        assert_eq!((bad(&packet), packet.layers[0].verbatim), (vec![], Some(true)));
    }
    let mut pairs =
        vec![("fddi.fc", "fddi", "frame control"), ("fddi.dst", "fddi", "destination"), ("fddi.src", "fddi", "source")];
    compare("fddi.pcap", &pcap(10, &frames), &pairs);
    // Of synchronous frames tshark reads no more.
    frames.pop();
    pairs.push(("llc.dsap", "llc", "dsap"));
    compare("fddi-llc.pcap", &pcap(10, &frames), &pairs);
    // A datagram goes on to be read, by both.
    let datagrams = [fddi(Control::ASYNCHRONOUS, &kinds()[0])];
    let names = names(&decode("fddi", &datagrams[0]));
    assert_eq!(names, ["fddi", "llc-snap", "ipv4", "udp"]);
    let pairs =
        [("fddi.src", "fddi", "source"), ("ip.src", "ipv4", "source"), ("udp.dstport", "udp", "destination port")];
    compare("fddi-ip.pcap", &pcap(10, &datagrams), &pairs);
}

#[test]
fn control_fields_are_named() {
    let packet = decode("llc", &kinds()[1]);
    assert_eq!(packet.layers[0].summary, "LLC 0xaa > 0xaa XID P/F command");
    assert_eq!(value(&packet, "llc", "xid classes"), "0x01");
    let packet = decode("llc", &kinds()[8]);
    assert_eq!(value(&packet, "llc", "n(r)"), "5");
    assert_eq!(value(&packet, "llc", "response"), "1");
}

#[test]
fn what_is_wrong_with_llc_is_said() {
    let said = |octets: &[u8]| bad(&decode("llc", octets));
    assert_eq!(
        said(&header(0xf0, 0xf0, true, unnumbered(function::UI, false))),
        ["llc: UI that is a response or polls, and is ignored"]
    );
    assert_eq!(
        said(&header(sap::SNAP, 0xf0, false, unnumbered(function::UI, false))),
        ["llc: the SAP of SNAP in one place only"]
    );
    assert_eq!(
        said(&header(0xaa, 0xaa, false, unnumbered(function::XID, false))),
        ["llc: XID without its information of three octets"]
    );
    assert_eq!(said(&[0xf0, 0xf0, 0x01]), ["llc: 3 octets, at least 4 needed"]);
}

#[test]
fn what_is_wrong_with_fddi_is_said() {
    let long = fddi(Control::ASYNCHRONOUS, &vec![0xf0; fddi::MAX_INFORMATION + 1]);
    assert_eq!(bad(&decode("fddi", &long))[0], "fddi: 4479 octets of information, and a frame has at most 4478");
    assert!(bad(&decode("fddi", &[0x10; 20]))[0].contains("addresses of 48 bits"));
    let claim = decode("fddi", &fddi(Control::Mac(0xc3), &[0; 4]));
    assert!(claim.layers[0].summary.ends_with("MAC claim"));
    assert_eq!(claim.rest[0].why, "no decoder for frames of the MAC");
    let mut group = fddi(Control::ASYNCHRONOUS, &kinds()[1]);
    group[7] |= 0x80;
    assert!(notes(&decode("fddi", &group))[0].contains("the source is a group"));
}

#[test]
fn the_check_sequence_of_fddi_is_checked_where_it_was_captured() {
    let frame = fddi(Control::ASYNCHRONOUS, &kinds()[3]);
    let right = fddi::fcs(&frame);
    let said = |sum: u32| {
        let octets = [frame.clone(), sum.to_be_bytes().to_vec()].concat();
        let record = Record { fcs_len: 4, ..record(1, Link::Number(10), &octets) };
        bad(&Decoder::new().decode(&record))
    };
    assert_eq!(said(right), [""; 0]);
    assert!(said(!right)[0].contains("frame check sequence is"));
}
