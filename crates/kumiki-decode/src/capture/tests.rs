//! Reading files: every format from octets made by hand, cut and damaged.

use proptest::prelude::*;

use super::*;

/// Two packets of 3 and 5 octets, at 1.000002003 s and 2 s.
fn pcap(big_endian: bool, nanoseconds: bool) -> Vec<u8> {
    let four = |number: u32| {
        if big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    };
    let two = |number: u16| {
        if big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    };
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let fraction = if nanoseconds { 2003 } else { 2 };
    let header = [&four(magic)[..], &two(2), &two(4), &[0; 8], &four(65535), &four(101)].concat();
    let first = [four(1), four(fraction), four(3), four(300)].concat();
    let second = [four(2), four(0), four(5), four(5)].concat();
    [&header[..], &first, b"abc", &second, b"defgh"].concat()
}

fn read(octets: &[u8], wish: FormatHint) -> (Vec<Record>, Option<Unreadable>) {
    let mut capture = match Capture::open(octets, wish, &Registry::new()) {
        Ok(capture) => capture,
        Err(why) => return (Vec::new(), Some(why)),
    };
    let mut records = Vec::new();
    loop {
        match capture.next_record() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => return (records, None),
            Err(why) => return (records, Some(why)),
        }
    }
}

fn as_layer(layer: &'static str) -> FormatHint {
    FormatHint { layer: Some(layer), format: None }
}

fn good(octets: &[u8]) -> Vec<Record> {
    let (records, why) = read(octets, FormatHint::default());
    assert!(why.is_none(), "{why:?}");
    records
}

fn refused(octets: &[u8]) -> String {
    let (_, why) = read(octets, FormatHint::default());
    why.unwrap().to_string()
}

#[test]
fn pcap_is_read_in_both_orders_and_units() {
    for big_endian in [false, true] {
        for nanoseconds in [false, true] {
            let records = good(&pcap(big_endian, nanoseconds));
            let seen: Vec<(u64, &[u8], usize, u64)> = records
                .iter()
                .map(|record| {
                    let Record { number, octets, original_len, file_offset, .. } = record;
                    (*number, octets.as_slice(), *original_len, *file_offset)
                })
                .collect();
            assert_eq!(seen, [(1, &b"abc"[..], 300, 24), (2, b"defgh", 5, 43)]);
            let times: Vec<String> = records.iter().map(|r| r.time.unwrap().to_string()).collect();
            let first = if nanoseconds { "1.000002003" } else { "1.000002000" };
            assert_eq!(times, [first, "2.000000000"]);
            assert_eq!(records[0].link, Link::Number(101));
        }
    }
}

#[test]
fn a_cut_capture_says_where_and_gives_what_came_before() {
    let whole = pcap(false, false);
    let (records, why) = read(&whole[..whole.len() - 2], FormatHint::default());
    assert_eq!(records.len(), 1);
    assert_eq!(
        why.unwrap().to_string(),
        "pcap, packet 2: the file ends at octet 62, where a record that began at octet 43 (0x2b) has 19 of 21 octets; \
         it was cut there, or a length before is wrong"
    );
}

#[test]
fn a_length_that_cannot_be_is_named_before_memory_is_asked_for() {
    let mut octets = pcap(false, false);
    octets[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(
        refused(&octets),
        "pcap, packet 1, octet 24 (0x18) of the file: the record says that it has 4294967295 octets; right: at most 4194288"
    );
}

struct Ng {
    big_endian: bool,
    octets: Vec<u8>,
}

impl Ng {
    fn new(big_endian: bool) -> Self {
        let mut file = Self { big_endian, octets: Vec::new() };
        let version = [file.u16(1), file.u16(0)].concat();
        let body = [&file.u32(0x1a2b_3c4d)[..], &version, &[0xff; 8]].concat();
        file.block(SECTION, &body);
        file
    }

    fn u16(&self, number: u16) -> Vec<u8> {
        if self.big_endian { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    fn u32(&self, number: u32) -> Vec<u8> {
        if self.big_endian { number.to_be_bytes().to_vec() } else { number.to_le_bytes().to_vec() }
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let len = self.u32(u32::try_from(padded + 12).unwrap());
        self.octets.extend(self.u32(kind));
        self.octets.extend(&len);
        self.octets.extend(body);
        self.octets.resize(self.octets.len() + padded - body.len(), 0);
        self.octets.extend(&len);
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [self.u16(code), self.u16(u16::try_from(value.len()).unwrap())].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn interface(&mut self, link: u16, snaplen: u32, options: &[u8]) {
        let body = [&self.u16(link)[..], &[0; 2], &self.u32(snaplen), options].concat();
        self.block(1, &body);
    }

    fn enhanced(&mut self, interface: u32, ticks: u64, data: &[u8], options: &[u8]) {
        let ticks = [(ticks >> 32) as u32, (ticks & 0xffff_ffff) as u32];
        let len = u32::try_from(data.len()).unwrap();
        let numbers = [interface, ticks[0], ticks[1], len, len + 7];
        let mut body: Vec<u8> = numbers.iter().flat_map(|number| self.u32(*number)).collect();
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        self.block(6, &body);
    }
}

const SECTION: u32 = 0x0a0d_0d0a;

#[test]
fn pcapng_keeps_interfaces_time_units_and_options() {
    for big_endian in [false, true] {
        let mut file = Ng::new(big_endian);
        file.interface(1, 0, &[]);
        let nanoseconds = [file.option(2, b"eth0"), file.option(9, &[9]), file.option(0, &[])];
        file.interface(101, 4, &nanoseconds.concat());
        // Halves of a second, an hour later.
        let hour = if big_endian { 3600_i64.to_be_bytes() } else { 3600_i64.to_le_bytes() };
        let halves = [file.option(9, &[0x81]), file.option(14, &hour)].concat();
        file.interface(147, 0, &halves);
        file.block(5, &[1; 20]);
        file.enhanced(0, 1_000_002, b"abc", &[]);
        let flags = file.u32(2 | 4 << 5);
        let said = [file.option(1, b"dropped: full"), file.option(2, &flags), file.option(4, &[0; 8])];
        file.enhanced(1, 1_000_000_003, b"defgh", &said.concat());
        file.enhanced(2, 3, b"i", &[]);
        let simple = [&file.u32(5)[..], b"jklmn"].concat();
        file.block(3, &simple);
        let records = good(&file.octets);
        let seen: Vec<(u32, Link, &[u8], Option<String>)> = records
            .iter()
            .map(|record| {
                let time = record.time.map(|time| time.to_string());
                (record.interface, record.link, record.octets.as_slice(), time)
            })
            .collect();
        let time = |text: &str| Some(text.to_owned());
        assert_eq!(
            seen,
            [
                (0, Link::Number(1), &b"abc"[..], time("1.000002000")),
                (1, Link::Number(101), b"defgh", time("1.000000003")),
                (2, Link::Number(147), b"i", time("3601.500000000")),
                (0, Link::Number(1), b"jklmn", None),
            ]
        );
        let second = &records[1];
        assert_eq!(second.interface_name.as_deref(), Some("eth0"));
        assert_eq!(second.comments, ["dropped: full"]);
        assert_eq!(second.direction, Some(Direction::Outbound));
        assert_eq!((second.fcs_len, second.original_len), (4, 12));
        assert_eq!(second.options[1], (4, vec![0; 8]));
    }
}

#[test]
fn a_section_of_the_other_byte_order_may_follow() {
    let mut both = Vec::new();
    for big_endian in [false, true] {
        let mut file = Ng::new(big_endian);
        file.interface(101, 0, &[]);
        file.enhanced(0, 1, b"abcd", &[]);
        both.extend(file.octets);
    }
    assert_eq!(good(&both).len(), 2);
}

#[test]
fn mistakes_of_pcapng_are_named() {
    let mut file = Ng::new(false);
    file.enhanced(3, 1, b"abcd", &[]);
    assert_eq!(
        refused(&file.octets),
        "pcapng, packet 1, octet 28 (0x1c) of the file: a packet of interface 3; \
         right: an interface description before the first packet"
    );
    let mut file = Ng::new(false);
    file.interface(1, 0, &[]);
    file.enhanced(0, 1, b"abcd", &[]);
    let mut twice = file.octets.clone();
    let at = twice.len() - 4;
    twice[at] += 4;
    assert!(refused(&twice).ends_with("is 36 in front and 40 behind; right: twice the same"));
    let mut lies = file.octets.clone();
    lies[48 + 20] = 200;
    let why = refused(&lies);
    assert!(why.contains("says that it holds 200 of a packet; right: at most 4"), "{why}");
    let mut odd = file.octets;
    odd[48 + 4] = 35;
    assert!(refused(&odd).contains("has the length 35; right: a multiple of 4"));
}

fn erf(kind: u8, wlen: u16, content: &[u8]) -> Vec<u8> {
    let rlen = u16::try_from(16 + content.len()).unwrap();
    let mut record = vec![0, 0, 0, 0x80, 5, 0, 0, 0, kind, 4];
    record.extend(rlen.to_be_bytes());
    record.extend([0, 0]);
    record.extend(wlen.to_be_bytes());
    record.extend(content);
    record
}

#[test]
fn erf_is_known_by_records_that_hang_together() {
    let file = [erf(3, 52, &[0; 52]), erf(48, 0, &[0; 16]), erf(4, 52, &[0; 52])].concat();
    let records = good(&file);
    // The padding record is stepped over.
    assert_eq!(records.len(), 2);
    assert_eq!(records[1].file_offset, 68 + 32);
    assert_eq!(records[0].time.unwrap().to_string(), "5.500000000");
    let (_, why) = read(&file[..file.len() - 1], FormatHint { format: Some(Format::Erf), layer: None });
    assert!(why.unwrap().to_string().contains("has 67 of 68 octets"));
}

#[test]
fn the_same_octets_are_read_from_every_form_of_text() {
    let octets: Vec<u8> = (0x60..0x7c).collect();
    let forms = [
        // xxd
        "00000000: 6061 6263 6465 6667 6869 6a6b 6c6d 6e6f  `abcdefghijklmno\n\
         00000010: 7071 7273 7475 7677 7879 7a7b            pqrstuvwxyz{\n",
        // hexdump -C
        "00000000  60 61 62 63 64 65 66 67  68 69 6a 6b 6c 6d 6e 6f  |`abcdefghijklmno|\n\
         00000010  70 71 72 73 74 75 76 77  78 79 7a 7b              |pqrstuvwxyz{|\n\
         0000001c\n",
        // tshark -x
        "0000  60 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f   `abcdefghijklmno\n\
         0010  70 71 72 73 74 75 76 77 78 79 7a 7b               pqrstuvwxyz{\n",
        // od -Ax -tx1
        "000000 60 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f\n\
         000010 70 71 72 73 74 75 76 77 78 79 7a 7b\n\
         00001c\n",
        "# from a mail\r\n606162636465666768696a6b6c6d6e6f 7071\r\n72737475767778797A7B\r\n",
        "60:61:62:63:64:65:66:67:68:69:6a:6b:6c:6d:6e:6f:70:71:72:73:74:75:76:77:78:79:7a:7b",
        "0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f,\n\
         0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x7b\n",
    ];
    for form in forms {
        // Twice the same packet: an offset of 0 or an empty line is between them.
        let (records, why) = read(format!("{form}\n\n{form}").as_bytes(), as_layer("ip"));
        assert!(why.is_none(), "{form}{why:?}");
        let found: Vec<&[u8]> = records.iter().map(|record| record.octets.as_slice()).collect();
        assert_eq!(found, [octets.as_slice(), octets.as_slice()], "{form}");
    }
}

#[test]
fn an_offset_begins_a_packet_and_a_wrong_one_is_named() {
    let (records, _) = read(b"0000  45 00\n0002  01 02\n0000  46 00\n", as_layer("ip"));
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].octets, [0x45, 0, 1, 2]);
    let (_, why) = read(b"0000: 4500\n0010: 0102\n", as_layer("ip"));
    assert_eq!(
        why.unwrap().to_string(),
        "hex, packet 1, octet 11 (0xb) of the file: line 2: the offset 0x10 after 0x2 octets; right: 0x2, or 0 for another packet"
    );
    let (_, why) = read(b"0000000 0045 2100\n", as_layer("ip"));
    assert!(why.unwrap().to_string().ends_with("right: octets in their order, as of hexdump -C or xxd"));
    let (_, why) = read(b"45 0g\n", as_layer("ip"));
    assert!(why.unwrap().to_string().contains("line 1: \"0g\"; right: pairs of hexadecimal digits"));
}

#[test]
fn raw_octets_are_one_packet_or_cells() {
    let (records, why) = read(&[0x45; 100], as_layer("ip"));
    assert_eq!((records.len(), why.is_none()), (1, true));
    let (records, why) = read(&[0; 106], as_layer("cells"));
    assert_eq!((records.len(), why.is_none()), (2, true));
    let (records, why) = read(&[0; 60], as_layer("cells"));
    assert_eq!(records.len(), 1);
    assert!(why.unwrap().to_string().contains("a cell that began at octet 53 (0x35) has 7 of 53"));
    assert!(refused(&[0; 60]).contains("say which it is with --as: ethernet, llc-snap"));
    assert_eq!(refused(b""), "the file is empty");
}

/// Gives one octet at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let (Some((first, rest)), Some(place)) = (self.0.split_first(), out.first_mut()) else {
            return Ok(0);
        };
        *place = *first;
        self.0 = rest;
        Ok(1)
    }
}

/// A line with the LCP Configure-Requests of magic 7E7D1234, made from RFC 1662, with either check sequence.
const LINE: [u8; 43] = [
    0x7e, 0xff, 0x03, 0xc0, 0x21, 0x01, 0x01, 0x00, 0x0a, 0x05, 0x06, 0x7d, 0x5e, 0x7d, 0x5d, 0x12, 0x34, 0xaf, 0x3d,
    0x7e, 0x7e, 0x7e, 0xff, 0x03, 0xc0, 0x21, 0x01, 0x01, 0x00, 0x0a, 0x05, 0x06, 0x7d, 0x5e, 0x7d, 0x5d, 0x12, 0x34,
    0xb5, 0x99, 0x82, 0x49, 0x7e,
];

const HDLC: FormatHint = FormatHint { format: Some(Format::Hdlc), layer: None };

#[test]
fn frames_are_found_between_the_flags_of_a_line() {
    let mut capture = Capture::open(&LINE[..], FormatHint::default(), &Registry::new()).unwrap();
    assert_eq!(
        capture.guess().to_string(),
        "read as hdlc, first layer ppp (flags stand around a frame whose check sequence is right)"
    );
    let records: Vec<Record> = capture.by_ref().map(Result::unwrap).collect();
    let shape: Vec<_> = records.iter().map(|one| (one.file_offset, one.octets.len(), one.fcs_len, one.link)).collect();
    let link = Link::Named("ppp");
    assert_eq!(shape, [(1, 16, 2, link), (22, 18, 4, link)]);
    for record in &records {
        assert_eq!(record.octets[8..14], [0x05, 0x06, 0x7e, 0x7d, 0x12, 0x34]);
        assert_eq!((record.original_len, record.comments.len()), (record.octets.len(), 0));
        let packet = crate::Decoder::new().decode(record);
        assert!(!packet.is_bad(), "{packet:?}");
        assert!(packet.layer("lcp").is_some(), "{packet:?}");
    }
}

#[test]
fn what_is_no_whole_frame_of_a_line_is_shown_as_far_as_it_goes() {
    let mut line = vec![1, 2, 3];
    line.extend(&LINE[..20]);
    // Aborted; a bit changed; the file ends.
    line.extend([0xff, 0x03, 0x00, 0x7d, 0x7e]);
    line.extend(&LINE[..20]);
    let changed = line.len() - 4;
    line[changed] ^= 1;
    line.extend(&LINE[..9]);
    let (records, why) = read(&line, HDLC);
    assert!(why.is_none());
    let shape: Vec<_> = records
        .iter()
        .map(|one| {
            let missing = one.original_len - one.octets.len();
            (one.octets.len(), one.fcs_len, missing, one.comments.join("; "))
        })
        .collect();
    let said = |text: &str| text.to_owned();
    assert_eq!(
        shape,
        [
            (16, 2, 0, said("3 octets before the first flag passed over")),
            (3, 0, 1, said("aborted: an escape stands before the flag")),
            (16, 2, 0, said("")),
            (8, 0, 1, said("the file ends within this frame")),
        ]
    );
    let bad: Vec<bool> = records.iter().map(|record| crate::Decoder::new().decode(record).is_bad()).collect();
    assert_eq!(bad, [false, false, true, false]);
}

#[test]
fn how_a_file_arrives_does_not_matter() {
    let octets = pcap(true, true);
    let slow = Capture::open(Slow(&octets), FormatHint::default(), &Registry::new()).unwrap();
    let records: Vec<Record> = slow.map(Result::unwrap).collect();
    assert_eq!(records, good(&octets));
    let slow = Capture::open(Slow(&LINE), HDLC, &Registry::new()).unwrap();
    let records: Vec<Record> = slow.map(Result::unwrap).collect();
    assert_eq!(records, good(&LINE));
}

fn formats() -> impl Strategy<Value = Option<Format>> {
    prop_oneof![Just(None), proptest::sample::select(Format::NAMES.map(|(_, format)| Some(format)).to_vec()),]
}

proptest! {
    #[test]
    fn no_octets_make_a_reader_panic(octets: Vec<u8>, format in formats(), named: bool) {
        let layer = named.then_some("cells");
        let _ = read(&octets, FormatHint { format, layer });
    }

    #[test]
    fn no_damage_makes_a_reader_panic(
        which in 0usize..5, at in 0usize..400, value: u8, cut in 0usize..400, big_endian: bool,
    ) {
        let mut octets = match which {
            0 => pcap(big_endian, true),
            1 => [erf(3, 52, &[0; 52]), erf(0x82, 60, &[0x80; 62]), erf(1, 30, &[7; 30])].concat(),
            2 => b"00000000: 6061 6263 6465\n00000006  60 61  |aa|\n\n45:00,0x11\n".repeat(3),
            3 => LINE.repeat(5),
            _ => {
                let mut file = Ng::new(big_endian);
                let options = [file.option(2, b"eth0"), file.option(9, &[9])].concat();
                file.interface(1, 60, &options);
                file.enhanced(0, 1, b"abc", &options);
                file.block(3, &[0; 12]);
                file.octets
            }
        };
        if let Some(octet) = octets.get_mut(at) {
            *octet = value;
        }
        octets.truncate(cut.max(16));
        let (records, _) = read(&octets, FormatHint::default());
        // A record begins behind the one before.
        prop_assert!(records.is_sorted_by(|a, b| a.number < b.number && a.file_offset <= b.file_offset));
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[0-9a-f :|,#x\n]{0,200}") {
        let wish = FormatHint { format: Some(Format::Hex), layer: Some("ip") };
        let _ = read(text.as_bytes(), wish);
    }
}
