//! Transfers on a bad line: loss, reordering, three options on and off, and who sends.
//!
//! All combinations are run. Two more choices alternate with them, so that each meets each of the others: who calls,
//! and whether it is Linux or Kumiki that has an option switched off. Over IPv6 the same again, of which the quick form
//! runs every eleventh.

use std::net::Shutdown;

use crate::Case;
use crate::host::{
    Content, Kumiki, Said, accept, call, listen, read, same, speak_ipv6, sysctl, sysctl_if_there, to_linux, write,
};

/// Chances of loss, in each direction.
const LOSS: [&str; 3] = ["0", "0.01", "0.05"];

/// Where frames are reordered, so many are held back for so long: up to some hundred others overtake them.
const REORDER: [&str; 2] = ["reorder=0.02", "reorder_by=1 ms"];

/// The least retransmission time-out of this end. Round trips in a namespace take some ten microseconds, and at 5 %
/// loss the usual 200 ms would be nearly all that a transfer consists of.
const RTO_MIN: &str = "tcp.rto.minimum=5 ms";

/// The same for Linux, and two more. Without timestamps it may not take a round-trip time from what was sent twice
/// (Karn's algorithm), so that with much in flight and 5 % loss its time-out doubles to minutes. And it gives up after
/// as long as `tcp_retries2` time-outs in a row would take, 14 s with this greatest one, but counts from the first
/// retransmission of a recovery: without SACK at 5 % loss one recovery can last that long while data arrive all the
/// time, and the second time-out in a row is then taken for the end of the peer (with 3 in place of 15 each such
/// transfer of 64 MiB ended so). The first came with Linux 6.11, the second with 6.15: what Linux sends without them
/// takes up to forty times as long, and is less.
const LINUX_SETTINGS: [(&str, &str); 3] =
    [("tcp_rto_min_us", "5000"), ("tcp_rto_max_ms", "1000"), ("tcp_retries2", "255")];

/// So much of what it would send otherwise a Linux sends that has not all of [`LINUX_SETTINGS`].
const WITHOUT_SETTINGS: u64 = 16;

/// Our name of each option, and Linux's.
const OPTIONS: [(&str, &str, &str); 3] = [
    ("ts", "tcp.timestamps", "tcp_timestamps"),
    ("sack", "tcp.sack", "tcp_sack"),
    ("ws", "tcp.window_scaling", "tcp_window_scaling"),
];

#[derive(Clone, Copy)]
struct Transfer {
    loss: &'static str,
    reorder: bool,
    /// One bit for each of [`OPTIONS`].
    on: u8,
    kumiki_sends: bool,
    kumiki_calls: bool,
    /// Who has switched off what is off.
    kumiki_declines: bool,
    octets: u64,
    seed: u64,
    ipv6: bool,
}

pub(crate) fn cases(octets: u64, full: bool) -> Vec<Case> {
    let over_ipv4 = transfers(octets);
    // Eleven is prime to all that alternates, so that each choice is among the few.
    let over_ipv6 = over_ipv4.iter().filter(|it| full || it.seed % 11 == 0);
    let over_ipv6 = over_ipv6.map(|it| Transfer { ipv6: true, ..*it });
    let all: Vec<Transfer> = over_ipv4.iter().copied().chain(over_ipv6).collect();
    all.into_iter()
        .map(|transfer| Case { name: transfer.name(), tries: 1, run: Box::new(move || transfer.run()) })
        .collect()
}

fn transfers(octets: u64) -> Vec<Transfer> {
    let mut transfers = Vec::new();
    // The slow ones first, so that none of them is left alone at the end.
    for loss in LOSS.into_iter().rev() {
        for reorder in [true, false] {
            for on in 0..8_u8 {
                for kumiki_sends in [true, false] {
                    let number = transfers.len() as u64;
                    let odd = |bits: u64| (number & bits).count_ones() % 2 == 1;
                    transfers.push(Transfer {
                        loss,
                        reorder,
                        on,
                        kumiki_sends,
                        kumiki_calls: odd(0b001_0111),
                        kumiki_declines: odd(0b010_1101),
                        octets,
                        seed: 1 + number,
                        ipv6: false,
                    });
                }
            }
        }
    }
    transfers
}

impl Transfer {
    fn name(&self) -> String {
        let options = OPTIONS.iter().enumerate();
        let options: Vec<&str> = options.map(|(bit, (name, ..))| if self.has(bit) { *name } else { "-" }).collect();
        format!(
            "matrix{}::loss_{}{}_{}_{}_sends_{}_calls",
            if self.ipv6 { "_ipv6" } else { "" },
            self.loss,
            if self.reorder { "_reordered" } else { "" },
            options.join("_"),
            if self.kumiki_sends { "kumiki" } else { "linux" },
            if self.kumiki_calls { "kumiki" } else { "linux" },
        )
    }

    const fn has(&self, bit: usize) -> bool {
        self.on >> bit & 1 == 1
    }

    fn run(&self) -> Said<String> {
        if self.ipv6 {
            speak_ipv6();
        }
        let mut has_settings = true;
        for (name, value) in LINUX_SETTINGS {
            has_settings &= sysctl_if_there(name, value)?;
        }
        let octets = if has_settings || self.kumiki_sends { self.octets } else { self.octets / WITHOUT_SETTINGS };
        let (size, seed) = (format!("{octets} B"), self.seed.to_string());
        let mut arguments = vec!["--connections".to_owned(), "1".to_owned(), "--seed".to_owned(), seed];
        if self.kumiki_sends {
            arguments.extend(["--bytes".to_owned(), size]);
        }
        for (bit, (_, ours, theirs)) in OPTIONS.iter().enumerate() {
            let off = !self.has(bit);
            sysctl(theirs, if off && !self.kumiki_declines { "0" } else { "1" })?;
            if off && self.kumiki_declines {
                arguments.extend(["--set".to_owned(), format!("{ours}=false")]);
            }
        }
        arguments.extend(["--set".to_owned(), RTO_MIN.to_owned()]);
        let loss = format!("loss={}", self.loss);
        for impair in std::iter::once(loss.as_str()).chain(REORDER.into_iter().filter(|_| self.reorder)) {
            arguments.extend(["--impair".to_owned(), impair.to_owned()]);
        }
        let command = if self.kumiki_sends { "source" } else { "sink" };
        let (kumiki, mut stream);
        if self.kumiki_calls {
            let listener = listen()?;
            arguments.extend(["--to".to_owned(), to_linux()]);
            kumiki = Kumiki::start(command, &texts(&arguments))?;
            stream = accept(&listener)?;
        } else {
            kumiki = Kumiki::listening(command, &texts(&arguments))?;
            stream = call()?;
        }
        let (linux, what) = if self.kumiki_sends {
            (read(&mut stream)?, "sent")
        } else {
            let sent = write(&mut stream, octets, self.seed)?;
            stream.shutdown(Shutdown::Write).map_err(|why| format!("shutdown: {why}"))?;
            let back = read(&mut stream)?;
            if back.octets > 0 {
                return Err(format!("a sink sent {} octets", back.octets));
            }
            (sent, "received")
        };
        drop(stream);
        let event = kumiki.event("connection")?;
        same(&linux, &Content::of(&event, what)?)?;
        if linux.octets != octets {
            return Err(format!("{} octets of {octets}", linux.octets));
        }
        if event["ended"] != "closed" {
            return Err(format!("not closed in order: {event}"));
        }
        let end = kumiki.event("end")?;
        match kumiki.status()? {
            0 => Ok(format!(
                "{:.1} s, CPU {:.2} s",
                end["seconds"].as_f64().unwrap_or(0.0),
                end["cpu_seconds"].as_f64().unwrap_or(0.0)
            )),
            status => Err(format!("kumiki ended with {status}")),
        }
    }
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}
