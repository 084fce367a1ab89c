//! What this crate writes for XTP, tshark reads as the same thing. Skipped where there is no tshark.
//!
//! tshark 4.0.17 has faults here that the test steps round: it reads the edges of spans with their octets turned round,
//! and takes every address segment of FIRST and JCNTL for one of 16 octets, so only IPv4's are used.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use std::net::{Ipv4Addr, SocketAddr};

use kumiki_wire::inet::ipv4;
use kumiki_wire::xtp::{
    Address, CHECK_OFFSET, Control, Diagnosis, Errors, First, Format, Header, Join, Key, LEN, Options, Rates, Span,
    Traffic, TrafficControl, code, service, val,
};

mod judge;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn checksum(octets: &[u8]) -> u16 {
    let mut sum: u64 =
        octets.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

fn packet(header: Header, payload: &[u8]) -> Vec<u8> {
    let header = Header { dlen: u32::try_from(payload.len()).unwrap(), ..header };
    let mut xtp = vec![0; LEN];
    header.emit(&mut xtp);
    xtp.extend(payload);
    let covered = kumiki_wire::xtp::covered(&xtp, xtp.len()).unwrap();
    let check = checksum(&xtp[..covered]);
    xtp[CHECK_OFFSET..CHECK_OFFSET + 2].copy_from_slice(&check.to_be_bytes());
    let ip = ipv4::Header {
        total_length: u16::try_from(20 + xtp.len()).unwrap(),
        time_to_live: 64,
        protocol: ipv4::protocol::XTP,
        source: A,
        destination: B,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; ip.len()];
    ip.emit(&mut octets);
    octets.extend(xtp);
    octets
}

macro_rules! written {
    ($what:expr) => {{
        let what = &$what;
        let mut out = vec![0xff; what.len()];
        what.emit(&mut out);
        out
    }};
}

#[test]
fn packets_are_read_as_written() {
    let of = |format, options, sync, seq| Header {
        key: Key(0x12_0000_0034),
        format,
        options,
        sync,
        seq,
        ..Header::default()
    };
    let traffic = Traffic {
        service: service::RELIABLE_STREAM,
        rates: Some(Rates { maxdata: 8948, inrate: 1, inburst: 2, outrate: 3, outburst: 4 }),
    };
    let address = Address::Ip {
        domain: 0,
        destination: SocketAddr::new(B.into(), 5001),
        source: SocketAddr::new(A.into(), 6001),
    };
    let control = Control { rseq: 1 << 40, alloc: (1 << 40) + 77, echo: 9 };
    let xkey = Key(0x56_0000_0078);
    let first = First { address: address.clone(), traffic };
    let diagnosis = Diagnosis { code: code::ABANDONED, val: val::IMPROPER_STATE };
    let errors = Errors { control, spans: vec![Span { left: (1 << 40) + 5, right: (1 << 40) + 9 }] };
    let join = Join { control, xkey, address, traffic };
    let sorted = Header { sort: 7, ..of(Format::Data, Options::SORT | Options::BTAG, 3, 64) };
    let packets = [
        packet(of(Format::First, Options::SREQ, 1, 0), &[written!(first), b"odd".to_vec()].concat()),
        packet(sorted, b"TAGTAGTAodd"),
        packet(of(Format::Data, Options::NOCHECK, 3, 75), b"not summed"),
        packet(of(Format::Cntl, Options::RCLOSE, 0, 0), &written!(control)),
        packet(of(Format::Ecntl, Options::NONE, 0, 0), &written!(errors)),
        packet(of(Format::Tcntl, Options::NONE, 0, 0), &written!(TrafficControl { control, xkey, traffic })),
        packet(of(Format::Jcntl, Options::MULTI, 0, 0), &written!(join)),
        packet(of(Format::Diag, Options::NONE, 0, 0), &written!(diagnosis)),
    ];
    let fields = [
        "xtp.checksum.status",
        "xtp.cmd.ptype.pformat",
        "xtp.dlen",
        "xtp.sync",
        "xtp.seq",
        "xtp.sort",
        "xtp.data.btag",
        "xtp.aseg.dstport",
        "xtp.aseg.srcport",
        "xtp.tspec.maxdata",
        "xtp.tspec.outburst",
        "xtp.cntl.rseq",
        "xtp.ecntl.alloc",
        "xtp.ecntl.nspan",
        "xtp.tcntl.echo",
        "xtp.tcntl.xkey",
        "xtp.diag.code",
        "xtp.diag.val",
        "_ws.malformed",
    ];
    let raw = judge::link_type::RAW;
    let Some(rows) = judge::fields("xtp", raw, &packets, &fields) else {
        return;
    };
    let rows: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
    let (tag, xkey) = ("0x5441475441475441", "0x0000005600000078");
    let expected = [
        "1 2 43 1 0 0   5001 6001 8948 4        ".to_owned(),
        format!("1 0 11 3 64 7 {tag}             "),
        "1 0 10 3 75 0              ".to_owned(),
        "1 1 20 0 0 0      1099511627776        ".to_owned(),
        "1 3 40 0 0 0       1099511627853 1      ".to_owned(),
        format!("1 5 56 0 0 0    8948 4    9 {xkey}   "),
        format!("1 7 72 0 0 0  5001 6001 8948 4    9 {xkey}   "),
        "1 8 8 0 0 0           2 12 ".to_owned(),
    ];
    for (found, expected) in rows.iter().zip(&expected) {
        println!("{found:?}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(found), words(expected));
    }
    assert_eq!(rows.len(), expected.len());
}
