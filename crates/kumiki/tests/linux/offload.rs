//! Super-segments: what crosses the device as one of many packets, and as single packets, both ways.
//!
//! Linux judges what Kumiki writes: a checksum left to it, sizes and headers of super-segments. What it hands over is
//! judged by the content, and by counters that say whether there were super-segments at all.

use std::net::Shutdown;

use serde_json::Value;

use crate::Case;
use crate::host::{
    Content, Kumiki, Said, accept, call, kumiki, linux, listen, read, same, speak_ipv6, to_linux, when, write,
};
use crate::single::{holds, ping};

/// Octets of each transfer.
const OCTETS: u64 = 12 << 20;

/// What crosses the device.
const SINGLE: &str = "--single-packets";

#[derive(Clone, Copy)]
struct Crossing {
    single: bool,
    kumiki_sends: bool,
    /// Between the device and the stack one packet in a hundred is lost.
    lossy: bool,
    ipv6: bool,
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for bits in 0..16_u8 {
        let [single, kumiki_sends, lossy, ipv6] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let crossing = Crossing { single, kumiki_sends, lossy, ipv6 };
        cases.push(Case { name: crossing.name(), tries: 1, run: Box::new(move || crossing.run()) });
    }
    for ipv6 in [false, true] {
        let name = format!("offload{}::fragments_pass_beside_super_segments", if ipv6 { "_ipv6" } else { "" });
        let run = move || {
            if ipv6 {
                speak_ipv6();
            }
            fragments()
        };
        cases.push(Case { name, tries: 1, run: Box::new(run) });
    }
    cases
}

impl Crossing {
    fn name(&self) -> String {
        format!(
            "offload{}::{}_sends_{}{}",
            if self.ipv6 { "_ipv6" } else { "" },
            if self.kumiki_sends { "kumiki" } else { "linux" },
            if self.single { "single_packets" } else { "super_segments" },
            if self.lossy { "_and_some_are_lost" } else { "" },
        )
    }

    fn run(&self) -> Said<String> {
        if self.ipv6 {
            speak_ipv6();
        }
        let size = format!("{OCTETS} B");
        let mut arguments = vec!["--connections", "1"];
        arguments.extend(self.single.then_some(SINGLE));
        if self.lossy {
            arguments.extend(["--impair", "loss=0.01"]);
        }
        let (kumiki, linux, what);
        if self.kumiki_sends {
            let listener = listen()?;
            let to = to_linux();
            arguments.extend(["--to", &to, "--bytes", &size]);
            kumiki = Kumiki::start("source", &arguments)?;
            linux = read(&mut accept(&listener)?)?;
            what = "sent";
        } else {
            kumiki = Kumiki::listening("sink", &arguments)?;
            let mut stream = call()?;
            linux = write(&mut stream, OCTETS, 11)?;
            stream.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
            holds(read(&mut stream)?.octets == 0, || "a sink sent something".to_owned())?;
            what = "received";
        }
        let event = kumiki.event("connection")?;
        same(&linux, &Content::of(&event, what)?)?;
        holds(linux.octets == OCTETS && event["ended"] == "closed", || event.to_string())?;
        let end = kumiki.event("end")?;
        self.judge(&end)?;
        Ok(told(&end))
    }

    /// Whether there were super-segments where there should have been.
    fn judge(&self, end: &Value) -> Said<()> {
        let [received, sent] =
            ["received", "sent"].map(|way| end[format!("super_segments_{way}")].as_u64().unwrap_or(0));
        let as_wished = if self.single {
            received == 0 && sent == 0
        } else if self.kumiki_sends {
            // What is lost on the way is lost as a packet: they are cut before.
            (sent > 0) != self.lossy
        } else {
            received > 0
        };
        holds(as_wished, || end.to_string())?;
        let packets = end[if self.kumiki_sends { "packets_sent" } else { "packets_received" }].as_u64().unwrap_or(0);
        holds(packets >= OCTETS / 1460, || format!("{packets} packets carry {OCTETS} octets: {end}"))?;
        holds(end["packets_refused"] == 0, || end.to_string())
    }
}

fn told(end: &Value) -> String {
    format!(
        "{} of {} packets received and {} of {} sent came in super-segments or were some",
        end["super_segments_received"], end["packets_received"], end["super_segments_sent"], end["packets_sent"]
    )
}

/// Echoes that go in fragments both ways, while a connection is busy both ways: none is put together with anything.
fn fragments() -> Said<String> {
    let kumiki = Kumiki::listening("echo", &["--connections", "1"])?;
    let mut stream = call()?;
    let mut writer = stream.try_clone().map_err(when("clone"))?;
    let writer = std::thread::spawn(move || -> Said<Content> {
        let sent = write(&mut writer, OCTETS, 13)?;
        writer.shutdown(Shutdown::Write).map_err(when("shutdown"))?;
        Ok(sent)
    });
    let pinger = std::thread::spawn(|| ping(20, 4000));
    let back = read(&mut stream)?;
    let sent = writer.join().map_err(|_| "the writer failed")??;
    pinger.join().map_err(|_| "the pinger failed")??;
    same(&sent, &back)?;
    let event = kumiki.event("connection")?;
    same(&sent, &Content::of(&event, "received")?)?;
    let end = kumiki.event("end")?;
    let supers = ["received", "sent"].map(|way| end[format!("super_segments_{way}")].as_u64().unwrap_or(0));
    holds(supers.iter().all(|count| *count > 0), || end.to_string())?;
    Ok(format!("{}; {} and {} pinged each other", told(&end), linux(), self::kumiki()))
}
