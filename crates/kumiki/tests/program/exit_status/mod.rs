//! The program from outside: exit statuses, where messages go, and that a mistake leaves no files.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]

mod captures;
mod interrupted;
mod places;
mod results;
mod scenarios;

use std::process::{Command, Output};

use kumiki_watchdog::process;

const TWO_HOSTS: &str = include_str!("../../../../kumiki-lab/tests/data/two-hosts.toml");
const SCRIPT: &str = include_str!("../../../../../scripts/tcp/sending/nodelay.script");

/// Two hosts without a route from one to the other.
const UNCONNECTED: &str = r#"title = "Nobody is there"
host.near = { graph = ["netperf", "tcp", "ip", "p2p0"], ip = { address = "10.0.0.1/24" } }
host.far = { like = "near", ip = { address = "10.0.5.2/24" } }
link.line = { ends = ["near.p2p0", "far.p2p0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 ms" }
run = { duration = "1 s" }
load.bulk = { kind = "netperf", from = "near.netperf", to = "far.netperf", message = "8 KiB", socket_buffer = "64 KiB" }
"#;

/// A folder of its own for one test.
struct Folder(process::Folder);

impl Folder {
    fn new(name: &str) -> Self {
        Self(process::Folder::within(env!("CARGO_TARGET_TMPDIR").as_ref(), name))
    }

    /// With this scenario in it.
    fn with(name: &str, scenario: &str) -> Self {
        let folder = Self::new(name);
        folder.0.write("x.toml", scenario.as_bytes());
        folder
    }

    fn kumiki(&self, arguments: &[&str]) -> Output {
        kumiki_watchdog::minute();
        Command::new(env!("CARGO_BIN_EXE_kumiki")).args(arguments).current_dir(self.0.place()).output().unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.0.names("")
    }
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "results belong to standard output, errors do not");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn wrong_usage_is_2_and_help_is_0() {
    let folder = Folder::new("usage");
    for arguments in [&["reproduce", "6"][..], &["run"], &["fly"], &["run", "x.toml", "--jobs", "0"], &[]] {
        assert_eq!(folder.kumiki(arguments).status.code(), Some(2), "{arguments:?}");
    }
    // Who does not know the names is told where they are.
    for command in ["run", "limit", "graph"] {
        let said = refused(&folder.kumiki(&[command]));
        assert!(said.contains("`kumiki scenarios` lists those that are built in"), "{said}");
    }
    let other = refused(&folder.kumiki(&["merge"]));
    assert!(!other.contains("kumiki scenarios"), "{other}");
    for arguments in [&["--help"][..], &["--version"], &["reproduce", "--help"], &["run", "--help"]] {
        let output = folder.kumiki(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty());
    }
}

/// What cannot fail proves nothing, and what goes round proves less than it says.
#[test]
fn scripts_that_expect_nothing_and_seeds_beyond_the_last_are_refused() {
    let folder = Folder::with("nothing", UNCONNECTED);
    folder.0.write("empty.script", b"");
    folder.0.write("calls.script", b"# Nothing is looked at.\n---\n0 listen\n");
    for (arguments, said) in [
        (&["script", "empty.script"][..], "empty.script: it expects nothing, so it would always be met"),
        (&["script", "calls.script"], "calls.script: it expects nothing, so it would always be met"),
        (&["adversity", "--from", "18446744073709551614", "--count", "5"], "expected at most 18446744073709551611"),
        (
            &["live", "x.toml", "--run", "nobody=true"],
            "kumiki: --run nobody=true (x.toml): there is no host \"nobody\"",
        ),
        (
            &["live", "x.toml", "--run", "near=true", "--background", "none"],
            "kumiki: --background none (x.toml): there",
        ),
        (&["compare", "x=", "x.toml"], "kumiki: \"x=\" names no place; expected the directory of a result"),
    ] {
        let message = refused(&folder.kumiki(arguments));
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
    let two = folder.kumiki(&["adversity", "--from", "18446744073709551614", "--count", "2"]);
    assert_eq!(two.status.code(), Some(0), "{two:?}");
}

/// What would be there for nobody would be waited for in vain.
#[test]
#[cfg(target_os = "linux")]
fn a_stack_of_its_own_says_what_is_wrong_before_it_is_there() {
    let folder = Folder::new("stack");
    let stack = ["stack", "--at", "s.sock", "--addr"];
    let cases: [(&[&str], &str); 5] = [
        (&["10.9.0.2"], "write an address and its prefix"),
        (&["10.9.0.2/24", "--programs", "0"], "expected a whole number from 1"),
        (&["10.9.0.2/24", "--sockets", "0"], "expected a whole number from 1"),
        (&["10.9.0.2/24", "--addr", "10.9.0.3/24"], "two addresses of IPv4"),
        (&["10.9.0.2/24", "--mode", "999"], "expected three octal digits"),
    ];
    for (rest, expected) in cases {
        let said = refused(&folder.kumiki(&[&stack[..], rest].concat()));
        assert!(said.contains(expected), "{rest:?}: {said}");
        assert!(folder.names().is_empty());
    }
}

#[test]
fn impaired_links_are_the_same_on_any_number_of_threads_and_leave_no_files() {
    let folder = Folder::new("adversity");
    let run = |jobs| {
        let output = folder.kumiki(&["adversity", "--from", "100", "--count", "20", "--jobs", jobs]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run("1");
    assert!(text.starts_with("20 transfers: "), "{text}");
    assert!(text.contains("0 failed; hash "), "{text}");
    assert_eq!(text, run("3"));
    assert!(folder.names().is_empty());
    assert_eq!(folder.kumiki(&["adversity", "--pcap"]).status.code(), Some(2), "captures are of one seed");
}

#[test]
fn no_seeds_and_no_port_are_mistakes_that_are_named() {
    let folder = Folder::new("mistakes");
    let said = |arguments: &[&str]| {
        let output = folder.kumiki(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let none = said(&["adversity", "--count", "0"]);
    assert!(none.contains("'0' for '--count <N>'"), "{none}");
    for (to, expected) in [
        ("192.168.3.2", "needs a port, as 192.168.3.2:5001"),
        ("fd00::1", "needs a port, as [fd00::1]:5001"),
        ("[fd00::1]", "needs a port, as [fd00::1]:5001"),
        ("host", "not an address and a port, as 10.9.0.1:5001 or [fd00::1]:5001"),
    ] {
        let text = said(&["echo", "--tun", "tun9", "--addr", "192.168.3.1/24", "--to", to]);
        assert!(text.contains(expected), "{text}");
    }
}

/// TPDUs of 8192 octets in packets of 2048, on LAPB.
#[test]
fn decode_reads_file_transfer_on_lapb() {
    let folder = Folder::new("on-lapb");
    let point = ["tpdu=8192 B", "path=line", "flow=credit"];
    let set = point.iter().flat_map(|it| ["--set", it]);
    let arguments: Vec<&str> = ["run", "paper4-fig2b", "--pcap", "--out", "seen"].into_iter().chain(set).collect();
    assert!(folder.kumiki(&arguments).status.success());
    for host in ["sender", "receiver"] {
        let file = format!("seen/captures/paper4-fig2b/000-{host}.pcapng");
        let bad = folder.kumiki(&["decode", "--bad", &file]);
        assert_eq!(String::from_utf8(bad.stdout).unwrap(), "", "{host}");
        let all = folder.kumiki(&["decode", &file]);
        let all = String::from_utf8(all.stdout).unwrap();
        assert!(all.contains("file, 8000 octets"), "{host}");
    }
}

#[test]
fn decode_has_nothing_to_remark_on_what_an_xtp_sends() {
    let folder = Folder::new("adversity-xtp");
    for seed in 0..20 {
        let seed = seed.to_string();
        let arguments = ["adversity", "--protocol", "xtp", "--seed", &seed, "--pcap"];
        let output = folder.kumiki(&[&arguments[..], &["--out", "seen"]].concat());
        assert!(output.status.success(), "{output:?}");
        for name in ["near", "far"] {
            let file = format!("seen/adversity-{seed}-{name}.pcapng");
            let output = folder.kumiki(&["decode", "--bad", &file]);
            let text = String::from_utf8(output.stdout).unwrap();
            // What comes in may have been spoilt on the line.
            let sent = text.lines().find(|it| it.contains(" out ") && it.contains("!!"));
            assert_eq!(sent, None, "seed {seed}");
        }
    }
    let output = folder.kumiki(&["adversity", "--protocol", "xtp", "--seed", "1", "--trace"]);
    assert_eq!(output.status.code(), Some(2), "there is none of XTP");
}

#[test]
fn options_of_responders_that_have_no_effect_or_no_sense_are_refused_for_what_is_wrong() {
    let folder = Folder::new("responders");
    let ftamd = ["ftamd", "--root", "."];
    for (more, said) in [
        (&["--anonymous", "--user", "ada"][..], &["--anonymous", "--user"][..]),
        (&["--anonymous", "--listen", "127.0.0.1:99999"], &["99999", "no port", "65535"]),
        (&["--anonymous", "--listen", "localhost"], &["localhost", "names are not looked up"]),
        (&["--anonymous", "--listen", "localhost:102"], &["localhost", "names are not looked up"]),
        (&["--anonymous", "--listen", "127.0.0.1:"], &["no port"]),
        (&["--anonymous", "--listen", "[::1"], &["no address"]),
        (
            &["--anonymous", "--listen", "127.0.0.1:0", "--pcap", "none/x"],
            &["--pcap none/x: there is no directory none; make it, or choose another place"],
        ),
    ] {
        let told = refused(&folder.kumiki(&[&ftamd[..], more].concat()));
        for part in said {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
    }
    let told = refused(&folder.kumiki(&["mmsd", "--root", ".", "--anonymous", "--user", "ada"]));
    assert!(told.contains("--anonymous"), "{told}");
}

/// Each of these was taken without a word once, had no effect, or failed later in words that did not help.
#[test]
fn options_that_cannot_be_or_would_do_nothing_are_refused() {
    let folder = Folder::new("options");
    let live = "--tun none0 --addr 10.9.0.2/24";
    for (program, options, said) in [
        ("ping", "--to 10.9.0.1 --bytes 65508B", "at most 65507 B"),
        ("ping", "--to fd00::1", "another version of IP"),
        ("ping", "--to 10.9.0.1 --count 0", "--count"),
        ("ping", "--to 10.9.0.1 --station 127.0.0.1:7000", "--station"),
        ("ping", "--to 10.9.0.1 --via 127.0.0.1:7000", "--via"),
        ("ping", "--to 10.9.0.1 --beyond-loopback", "--beyond-loopback"),
        ("ping", "--to 10.9.0.1 --linux 10.9.0.2/24", "is --addr, too"),
        ("ping", "--to 10.9.0.1 --linux fd00::1/64", "another version of IP"),
        ("ping", "--to 10.9.0.1 --linux 10.8.0.1/24", "would not find --addr"),
        ("source", "--to [fd00::1]:5001", "another version of IP"),
        ("source", "--to 10.9.0.1:0", "port 0"),
        ("sink", "--listen 0", "--listen"),
        ("sink", "--listen 1 --write 1kB", "--write"),
        ("echo", "--listen 1 --write 0B", "--write"),
        ("sink", "--to 10.9.0.1:1 --group 239.1.2.3 --protocol xtp", "--group"),
        ("ttcp", "--transmit 10.9.0.1 --group 239.1.2.3 --protocol xtp", "--group"),
    ] {
        let all: Vec<&str> = [program].into_iter().chain(live.split(' ')).chain(options.split(' ')).collect();
        let told = refused(&folder.kumiki(&all));
        assert!(told.contains(said), "{program} {options}: {told}");
    }
    for (command, said) in [
        ("ping --tun none0 --addr fd00::2/64 --linux fd00::1/64 --mtu 1279 --to fd00::1", "1280"),
        ("ppp exec:true --tun none0 --listen 5", "--listen"),
        ("ppp exec:true --run sink --listen 0", "--listen"),
        ("ppp exec:true --run source --to 0", "--to"),
        ("x25 pad --listen 127.0.0.1:0 -- true", "--listen"),
        ("x25 pad 123 --xot 127.0.0.1:1 --setup-timeout 1s", "--setup-timeout is about many callers"),
        ("x25 pad 123 --xot 127.0.0.1:1 --max-startups 1:2:3", "--max-startups is about many callers"),
        ("x25 pad 123 --xot 127.0.0.1:1 --max-per-host 3", "--max-per-host is about many callers"),
        ("x25 pad --listen 127.0.0.1:0 --xot 127.0.0.1:1 --idle 0s", "--idle: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --setup-timeout 0s", "--setup-timeout: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --idle 0s", "--idle: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --max-time 0s", "--max-time: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --memory 1MiB", "6 MiB or more"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --pcap x --max-pcap 3kB", "64 KiB or more"),
        ("ftam ls ftam://127.0.0.1:1/ --retries 1", "--retries"),
        ("ftam get ftam://127.0.0.1:1/x --element 9kB", "--element"),
        ("mms ls mms://127.0.0.1:1/ --window 2", "--window"),
    ] {
        let all: Vec<&str> = command.split(' ').collect();
        let told = refused(&folder.kumiki(&all));
        assert!(told.contains(said), "{command}: {told}");
    }
    assert_eq!(folder.names(), [""; 0]);
}
