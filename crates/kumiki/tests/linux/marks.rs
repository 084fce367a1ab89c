//! Congestion marks (ECN): the line between the two marks, and Linux's own counters tell what came and what it was
//! told.
//!
//! Accurate feedback (RFC 9768) needs a kernel whose `tcp_ecn` takes 3. Where it does not, that is said, and nothing is
//! tested.

use std::net::Shutdown;

use crate::host::{Content, Kumiki, PORT, Said, accept, call, linux, listen, read, same, sysctl, write};
use crate::{Case, tshark};

/// Octets of each transfer: some thousand segments.
const OCTETS: u64 = 4 << 20;

/// One data segment in so many is marked, and as many acknowledgments would be if they could.
const MARK: &str = "mark=0.03";

/// What both ends use in the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feedback {
    None,
    Classic,
    Accurate,
}

#[derive(Clone, Copy)]
struct Marks {
    name: &'static str,
    kumiki: &'static str,
    /// Linux's `tcp_ecn`.
    linux: &'static str,
    feedback: Feedback,
    kumiki_calls: bool,
    kumiki_sends: bool,
}

pub(crate) fn cases() -> Vec<Case> {
    // Who calls asks; Linux asks with 1, and 2 is its default.
    let kinds = [
        ("classic", "classic", "1", Feedback::Classic, [true, false]),
        ("passive", "passive", "1", Feedback::Classic, [false, false]),
        ("passive_linux", "classic", "2", Feedback::Classic, [true, true]),
        ("accurate_falls_back", "accurate", "1", Feedback::Classic, [true, false]),
        ("refused_by_linux", "accurate", "0", Feedback::None, [true, true]),
        ("refused_by_kumiki", "off", "1", Feedback::None, [false, false]),
        ("accurate", "accurate", "3", Feedback::Accurate, [true, false]),
    ];
    let mut cases = Vec::new();
    for (name, kumiki, linux, feedback, mut callers) in kinds {
        callers.sort_unstable();
        let callers: &[bool] = if callers[0] == callers[1] { &callers[..1] } else { &callers };
        for &kumiki_calls in callers {
            for kumiki_sends in [true, false] {
                let marks = Marks { name, kumiki, linux, feedback, kumiki_calls, kumiki_sends };
                cases.push(Case { name: marks.name(), tries: 1, run: Box::new(move || marks.run()) });
            }
        }
    }
    cases
}

/// A counter of this namespace, `IpExt` or `TcpExt` of `/proc/net/netstat`.
fn counter(table: &str, name: &str) -> Said<u64> {
    let text = std::fs::read_to_string("/proc/net/netstat").map_err(|why| why.to_string())?;
    let mut lines = text.lines().filter(|line| line.starts_with(table));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return Err(format!("/proc/net/netstat has no {table}"));
    };
    let found = names.split(' ').zip(values.split(' ')).find(|(it, _)| *it == name);
    let found = found.and_then(|(_, value)| value.parse().ok());
    found.ok_or_else(|| format!("/proc/net/netstat has no {name}"))
}

impl Marks {
    fn name(&self) -> String {
        format!(
            "marks::{}_{}_calls_{}_sends",
            self.name,
            if self.kumiki_calls { "kumiki" } else { "linux" },
            if self.kumiki_sends { "kumiki" } else { "linux" },
        )
    }

    fn run(&self) -> Said<String> {
        if let Err(why) = sysctl("tcp_ecn", self.linux) {
            // A kernel that knows less takes the other values.
            if self.feedback == Feedback::Accurate && sysctl("tcp_ecn", "2").is_ok() {
                return Ok(format!("SKIPPED: this kernel has no accurate feedback, for {why}"));
            }
            return Err(why);
        }
        let pcap = std::env::temp_dir().join(format!("kumiki-{}.pcapng", std::process::id()));
        let path = pcap.to_string_lossy().into_owned();
        let said = self.transfer(&path);
        let judged = said.and_then(|()| self.judge(&path));
        let _ = std::fs::remove_file(&pcap);
        judged
    }

    fn transfer(&self, pcap: &str) -> Said<()> {
        let (size, ecn) = (format!("{OCTETS} B"), format!("tcp.ecn=\"{}\"", self.kumiki));
        let to = format!("{}:{PORT}", linux());
        let mut arguments = vec!["--connections", "1", "--impair", MARK, "--pcap", pcap];
        arguments.extend(["--set", &ecn]);
        if self.kumiki_sends {
            arguments.extend(["--bytes", &size]);
        }
        let command = if self.kumiki_sends { "source" } else { "sink" };
        let (kumiki, mut stream);
        if self.kumiki_calls {
            let listener = listen()?;
            arguments.extend(["--to", &to]);
            kumiki = Kumiki::start(command, &arguments)?;
            stream = accept(&listener)?;
        } else {
            kumiki = Kumiki::listening(command, &arguments)?;
            stream = call()?;
        }
        let (linux, what) = if self.kumiki_sends {
            (read(&mut stream)?, "sent")
        } else {
            let sent = write(&mut stream, OCTETS, 9)?;
            stream.shutdown(Shutdown::Write).map_err(|why| format!("shutdown: {why}"))?;
            read(&mut stream)?;
            (sent, "received")
        };
        drop(stream);
        let event = kumiki.event("connection")?;
        same(&linux, &Content::of(&event, what)?)?;
        match (kumiki.status()?, linux.octets) {
            (0, OCTETS) => Ok(()),
            (status, octets) => Err(format!("status {status}, {octets} octets of {OCTETS}")),
        }
    }

    fn judge(&self, pcap: &str) -> Said<String> {
        let in_ect0 = counter("IpExt:", "InECT0Pkts")?;
        let in_ce = counter("IpExt:", "InCEPkts")?;
        let delivered_ce = counter("TcpExt:", "TCPDeliveredCE")?;
        let told = format!("Linux got {in_ect0} ECT(0), {in_ce} CE, and was told of {delivered_ce}");
        let uses = self.feedback != Feedback::None;
        let expected = [
            (in_ect0 > 0) == (uses && self.kumiki_sends),
            (in_ce > 0) == (uses && self.kumiki_sends),
            (delivered_ce > 0) == (uses && !self.kumiki_sends),
        ];
        if expected.contains(&false) {
            return Err(told);
        }
        if self.feedback != Feedback::Classic || !self.kumiki_sends {
            return Ok(told);
        }
        // Linux ends its echo only where it hears CWR, which only Kumiki can have sent.
        let reduced = format!("tcp.flags.cwr==1 && tcp.flags.syn==0 && tcp.len>0 && ip.dst=={}", linux());
        let echoes = format!("tcp.flags.ece==1 && tcp.flags.syn==0 && ip.src=={}", linux());
        let (Some(reduced), Some(echoes)) = (count(pcap, &reduced)?, count(pcap, &echoes)?) else {
            return Ok(format!("{told}; {}", tshark::ABSENT));
        };
        if reduced == 0 || echoes < reduced {
            return Err(format!("{told}; {echoes} ECE, {reduced} CWR"));
        }
        Ok(format!("{told}; {echoes} ECE, {reduced} CWR"))
    }
}

/// How many packets of a capture tshark finds with `filter`; `None` where that is absent.
fn count(pcap: &str, filter: &str) -> Said<Option<usize>> {
    let found = tshark::lines(pcap, &["-Y", filter])?;
    Ok(found.map(|lines| lines.len()))
}
