//! What a configuration may say, and what is said of one that is wrong.

use kumiki_graph::{Duration, Instant, Reason};
use kumiki_live::allowance::Allowances;
use kumiki_live::throttle::Throttle;
use kumiki_x25::x25_switch::{self, CallEvent, Event};

use super::switch::{kind, line};
use super::*;

const WHOLE: &str = r#"
[switch]
most = 100
retry = "1 min"

[port.paris]
kind = "xot"
listen = "127.0.0.1:0"
peers = ["192.0.2.0/24", "::1"]
host = "192.0.2.7"
hosts = { "2342" = "192.0.2.8:1999" }
x25 = { window = 3 }

[port.paris.xot.permanent.7]
interface = "Serial0"
peer_interface = "Serial1"

[port.lyon]
kind = "lapb"
on = "udp:127.0.0.1:7000,127.0.0.1:7001"
frames = "ethernet"
lapb = { k = 3, t1 = "1 s" }
x25 = { packet = "256 B", role = "dte", permanent = 1, first_two_way = 2 }

[port.wire]
kind = "lapb"
on = "tap:x25tap0"

[port.kernel]
kind = "tun"
on = "tun:x25tun0"

[port.lab]
kind = "packets"
on = "listen:line"
x25 = { permanent = 2, first_two_way = 3 }

[[route]]
called = "2342"
to = ["lyon", "paris"]
from = ["lab"]
user_data = "01 00"
strip = 4
calling_prepend = "44"

[[route]]
called = ""
to = ["paris"]
back = true

[[circuit]]
a = "lyon:1"
b = "lab:1"

[[circuit]]
a = "lab:2"
b = "paris:7"
"#;

#[test]
fn a_whole_configuration_is_understood() {
    let config = parse("x.toml", WHOLE).unwrap();
    assert_eq!(config.ports.len(), 5);
    assert_eq!(config.switch.always_up, ["paris"]);
    assert_eq!(config.switch.max_calls, 100);
    let [first, second] = config.switch.routes.as_slice() else {
        panic!("{:?}", config.switch.routes);
    };
    assert_eq!(first.user_data, [1, 0]);
    assert_eq!(first.called.strip, 4);
    assert!(second.prefix.is_empty() && second.back);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_would_be_right() {
    let cases: [(&str, &str, &[&str]); 30] = [
        ("kind = \"tun\"", "kind = \"tum\"", &["x.toml:30: ", "port.kernel.kind", "tun"]),
        ("on = \"tun:x25tun0\"", "on = \"tap:x25tun0\"", &["port.kernel.on", "tun:NAME"]),
        ("on = \"tap:x25tap0\"", "", &["port.wire", "\"on\" is missing", "tap:NAME"]),
        ("k = 3", "k = 300", &["port.lyon.lapb.k", "127"]),
        ("t1 = \"1 s\"", "t9 = \"1 s\"", &["port.lyon.lapb.t9", "t1"]),
        ("window = 3", "window = 9", &["port.paris", "window of 9"]),
        ("frames = \"ethernet\"", "frames = \"odd\"", &["port.lyon.frames", "bare"]),
        ("role = \"dte\"", "over = \"link\", role = \"dxe\"", &["port.lyon.x25.role", "dte"]),
        ("x25 = { window = 3 }", "x25 = { over = \"link\" }", &["port.paris.x25.over", "circuits"]),
        ("to = [\"lyon\", \"paris\"]", "to = [\"lyons\"]", &["route.0.to.0", "did you mean \"lyon\"?"]),
        ("[\"192.0.2.0/24\", \"::1\"]", "[]", &["x.toml:9: ", "port.paris.peers", "lets no caller in", "`listen`"]),
        (
            "[port.lyon]",
            "[port.rome]\nkind = \"xot\"\nlisten = \"[::]:1998\"\n[port.oslo]\nkind = \"xot\"\nlisten = \"127.0.0.1\"\n[port.lyon]",
            &["port.rome.listen", "port \"oslo\" listens at 127.0.0.1:1998", "another address or port"],
        ),
        (
            "host = \"192.0.2.7\"\nhosts = { \"2342\" = \"192.0.2.8:1999\" }\n",
            "",
            &["route.0.to.1", "port \"paris\", which only listens", "`host` or `hosts`"],
        ),
        ("listen = \"127.0.0.1:0\"\n", "", &["port.paris.peers", "no call can come in", "`listen`"]),
        ("\"192.0.2.0/24\"", "\"192.0.2.0/240\"", &["port.paris.peers.0", "192.0.2.0/24"]),
        ("\"2342\" = ", "\"23x2\" = ", &["port.paris.hosts.23x2", "2342"]),
        ("user_data = \"01 00\"", "user_data = \"010\"", &["route.0.user_data", "pairs"]),
        ("a = \"lyon:1\"", "a = \"lyon:0\"", &["circuit.0.a", "1 to 4095"]),
        ("strip = 4", "stripp = 4", &["stripp", "strip"]),
        (
            "a = \"lyon:1\"",
            "a = \"lyon:2\"",
            &["x.toml:52: ", "circuit.0.a", "end with 1", "a channel from 1 to 1", "permanent = 2, first_two_way = 3"],
        ),
        (
            "a = \"lyon:1\"",
            "a = \"wire:3\"",
            &["circuit.0.a", "no permanent circuits", "permanent = 3, first_two_way = 4"],
        ),
        (
            "b = \"paris:7\"",
            "b = \"paris:8\"",
            &["circuit.1.b", "other channels alone: 7", "[port.paris.xot.permanent.8]"],
        ),
        (
            "[port.paris.xot.permanent.7]\ninterface = \"Serial0\"\npeer_interface = \"Serial1\"\n",
            "",
            &["circuit.1.b", "no permanent circuits", "[port.paris.xot.permanent.7]"],
        ),
        ("a = \"lab:2\"", "a = \"lab:1\"", &["circuit.1.a", "two circuits, also as circuit.0.b", "no other circuit"]),
        ("b = \"lab:1\"", "b = \"lyon:1\"", &["circuit.0.b", "two circuits, also as circuit.0.a"]),
        (
            "listen = \"127.0.0.1:0\"\npeers = [\"192.0.2.0/24\", \"::1\"]\n",
            "",
            &["port.paris.xot.permanent.7", "no calls come in", "`peer`", "`listen`"],
        ),
        (
            "x25 = { window = 3 }",
            "x25 = { default_window = 3 }",
            &[
                "port.paris.xot.permanent.7",
                "window = 2",
                "x25 uses default_window = 3",
                "window = 3 here, or default_window = 2 in x25",
            ],
        ),
        (
            "peer_interface = \"Serial1\"\n",
            "peer_interface = \"Serial1\"\npacket = \"256 B\"\n",
            &[
                "x.toml:17: ",
                "port.paris.xot.permanent.7.packet",
                "packet = \"128 B\" here, or default_packet = \"256 B\" in x25",
            ],
        ),
        ("x25 = { window = 3 }", "x25 = { idle = \"1 min\" }", &["port.paris.x25.idle", "no link", "lapb"]),
        ("retry = \"1 min\"", "retry = \"1 x\"", &["switch.retry", "duration"]),
    ];
    for (from, to, wanted) in cases {
        assert!(WHOLE.contains(from), "{from}");
        let why = parse("x.toml", &WHOLE.replacen(from, to, 1));
        let why = why.expect_err(to).to_string();
        assert!(why.starts_with("x.toml:"), "{why}");
        for part in wanted {
            assert!(why.contains(part), "{part:?} is not in: {why}");
        }
    }
}

#[test]
fn xot_and_x25_may_say_the_same_of_a_permanent_circuit_in_other_words() {
    let both =
        WHOLE.replacen("x25 = { window = 3 }", "x25 = { default_window = 3, default_packet = \"1 KiB\" }", 1).replacen(
            "peer_interface = \"Serial1\"\n",
            "peer_interface = \"Serial1\"\npacket = \"1024 B\"\nwindow = 3\n",
            1,
        );
    assert!(parse("x.toml", &both).is_ok());
}

#[test]
fn a_link_of_lapb_may_be_idle_unless_it_has_permanent_circuits() {
    let idle = |more: &str| {
        let head = "[port.a]\nkind = \"lapb\"\non = \"tap:x\"\n";
        parse("x.toml", &format!("{head}x25 = {{ idle = \"1 min\"{more} }}\n"))
    };
    assert!(idle("").is_ok());
    let why = idle(", permanent = 1, first_two_way = 2").unwrap_err().to_string();
    assert!(why.contains("port.a.x25") && why.contains("one or the other"), "{why}");
}

#[test]
fn a_port_that_nobody_can_use_is_refused() {
    let why = parse("x.toml", "[port.a]\nkind = \"xot\"\n").unwrap_err();
    assert!(why.to_string().contains("`listen`, `host` or `hosts`"), "{why}");
    let why = parse("x.toml", "port = {}\n").unwrap_err();
    assert!(why.to_string().contains("[port.NAME]"), "{why}");
}

/// Cause and diagnostic are what the ends are told; the log says what was wrong, and what may help.
#[test]
fn a_line_of_the_log_has_what_an_end_broke() {
    let at = Instant::ZERO;
    let line_of = |found: Option<Reason>| {
        let what = CallEvent::Refused {
            from: "lab".to_owned(),
            calling: "1".parse().unwrap(),
            called: "2".parse().unwrap(),
            cause: 9,
            diagnostic: 0,
            found,
            tried: None,
        };
        line(&Event { at, call: 7, peers: [None; 2], what }).unwrap()
    };
    let told = line_of(None);
    let later = Reason::violation_in("XOT", "XOT: version is 9, expected 0", &[0, 9, 0, 3]);
    assert_eq!(
        line_of(Some(later)),
        format!("{told} (XOT: the peer broke the protocol: XOT: version is 9, expected 0 (octets 00 09 00 03))")
    );
    let first = Reason::stranger("XOT", "XOT: version is 18245, expected 0", b"GET ");
    let words = "the peer broke the protocol with the first that it sent: XOT: version is 18245, expected 0 (octets 47 45 54 20)";
    let hint = "check the port: who answers may speak another protocol";
    assert_eq!(line_of(Some(first.clone())), format!("{told} (XOT: {words}; {hint})"));
    let place = x25_switch::CircuitEnd { port: "paris".to_owned(), channel: 7 };
    let what = CallEvent::Parted(place, first);
    let parted = line(&Event { at, call: 7, peers: [None; 2], what }).unwrap();
    assert_eq!(parted, format!("circuit 7: paris:7 is away: XOT: {words}; {hint}"));
}

#[test]
fn nobody_can_fill_the_log_with_resets_or_with_calls() {
    let call =
        |what| Event { at: Instant::ZERO, call: 7, peers: [Some("192.0.2.7:1998".parse().unwrap()), None], what };
    let reset = CallEvent::Reset { by: "in".to_owned(), cause: 0, diagnostic: 0, found: None };
    let number = "991".parse().unwrap();
    let set_up = CallEvent::SetUp { from: "in".to_owned(), to: "out".to_owned(), calling: number, called: number };
    let (mut allowances, mut throttle) = (Allowances::default(), Throttle::default());
    let (mut told, mut all) = (0, 0);
    for event in [reset, set_up].map(call) {
        // As many as a fast caller has in five seconds.
        for number in 0..50_000_u64 {
            let now = Instant::ZERO + Duration::from_micros(number * 100);
            let line = line(&event).unwrap();
            all += line.len();
            let kind = kind(&event, line.len(), &mut allowances, now);
            let line = match kind {
                Some(kind) => throttle.tell(kind, line, now),
                None => Some(line),
            };
            told += line.map_or(0, |line| line.len());
        }
    }
    assert!(all > 3_000_000 && told < 320_000, "{told} of {all}");
}
