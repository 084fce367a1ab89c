//! `kumiki decode`: a file of packets to lines, trees or JSON.
//!
//! What the file was taken for goes to standard error, so that results stay results. A file that cannot be read from
//! the beginning is a wrong input (exit status 2); one that breaks off later has been shown up to there (1). Mistakes
//! in packets are results, not failures.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use kumiki_decode::{Capture, Decoder, Dissector, Format, FormatHint, Packet, Registry, show};

use super::{Stop, unreadable};
use crate::cli;

/// Decodes the file and prints what was asked for.
pub(super) fn run(args: &cli::Decode) -> Result<(), Stop> {
    let registry = Registry::new();
    let layer = args.layer.as_deref().map(|name| named(&registry, "--as", name)).transpose()?;
    for name in &args.only {
        named(&registry, "--only", name)?;
    }
    let wish =
        FormatHint { format: args.format.as_deref().map(format).transpose()?, layer: layer.map(|layer| layer.name) };
    let mut decoder = Decoder::new().reading_as(layer);
    if args.secrets {
        decoder = decoder.showing_secrets();
    }
    for text in &args.channel {
        let (vpi, vci, dissector) = channel(&registry, text)?;
        decoder = decoder.adapting(vpi, vci, dissector);
    }
    for text in &args.port {
        let (number, dissector) = port(&registry, text)?;
        decoder = decoder.listening(number, dissector);
    }
    let name = if args.file == Path::new("-") { "standard input".to_owned() } else { args.file.display().to_string() };
    let wrong = |why: &dyn std::fmt::Display| format!("{name}: {why}");
    let capture = Capture::open(open(&args.file)?, wish, &registry).map_err(|why| Stop::Input(wrong(&why)))?;
    // A magic number leaves nothing to guess.
    let guess = capture.guess();
    if !guess.why.is_empty() && !matches!(guess.format, Format::Pcap | Format::PcapNg) {
        tell!("kumiki: {name}: {}", capture.guess());
    }
    let shown = show_all(args, capture, &mut decoder);
    match shown {
        Ok(()) => Ok(()),
        Err(Broken::Capture { why, nothing_before: true }) => Err(Stop::Input(wrong(&why))),
        Err(Broken::Capture { why, .. }) => Err(Stop::Failed(wrong(&why))),
        // That nobody reads them to the end, as with `head`, is no failure.
        Err(Broken::Output(why)) if why.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(Broken::Output(why)) => Err(Stop::Failed(format!("standard output: {why}"))),
    }
}

/// Why not all was shown.
enum Broken {
    Capture { why: kumiki_decode::Unreadable, nothing_before: bool },
    Output(io::Error),
}

impl From<io::Error> for Broken {
    fn from(why: io::Error) -> Self {
        Self::Output(why)
    }
}

fn show_all(args: &cli::Decode, mut capture: Capture<Box<dyn Read>>, decoder: &mut Decoder) -> Result<(), Broken> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut start = None;
    let (mut read, mut left) = (0_u64, args.count.unwrap_or(u64::MAX));
    while left > 0 {
        let record = match capture.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(why) => {
                out.flush()?;
                return Err(Broken::Capture { why, nothing_before: read == 0 });
            }
        };
        read = read.saturating_add(1);
        start = start.or(record.time);
        let packet = decoder.decode(&record);
        if !is_wanted(args, &packet) {
            continue;
        }
        left -= 1;
        if args.json {
            writeln!(out, "{}", show::json(&record, &packet))?;
        } else if args.verbose {
            writeln!(out, "{}", show::tree(&record, &packet, start))?;
        } else {
            writeln!(out, "{}", show::line(&record, &packet, start))?;
        }
    }
    if left > 0 {
        for unfinished in decoder.unfinished() {
            if args.json {
                writeln!(out, "{}", show::json_unfinished(&unfinished))?;
            } else {
                writeln!(out, "{unfinished}")?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn is_wanted(args: &cli::Decode, packet: &Packet) -> bool {
    let found = |name: &String| packet.layer(name).is_some();
    (args.only.is_empty() || args.only.iter().any(found)) && (!args.bad || packet.is_bad())
}

fn open(path: &Path) -> Result<Box<dyn Read>, Stop> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|why| unreadable("", path, &why))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(unreadable("", path, &ErrorKind::IsADirectory.into()));
    }
    Ok(Box::new(file))
}

fn named(registry: &Registry, option: &str, name: &str) -> Result<&'static Dissector, Stop> {
    registry.by_name(name).ok_or_else(|| {
        let all: Vec<String> = registry.all().map(|one| format!("\n  {:<12} {}", one.name, one.title)).collect();
        Stop::Input(format!("{option} {name}: no such layer; one of{}", all.concat()))
    })
}

fn format(name: &str) -> Result<Format, Stop> {
    let found = Format::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let all: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        Stop::Input(format!("--format {name}: no such format; one of {}", all.join(", ")))
    })
}

/// `10102=tpkt`
fn port(registry: &Registry, text: &str) -> Result<(u16, &'static Dissector), Stop> {
    let parts = text.split_once('=').and_then(|(port, layer)| Some((port.trim().parse().ok()?, layer)));
    let Some((port, layer)) = parts else {
        return Err(Stop::Input(format!("--port {text}: not a port of TCP and a layer, as in 10102=tpkt")));
    };
    Ok((port, named(registry, "--port", layer.trim())?))
}

/// `0/100=aal5-cell`
fn channel(registry: &Registry, text: &str) -> Result<(u16, u16, &'static Dissector), Stop> {
    let parts = text.split_once('=').and_then(|(channel, layer)| {
        let (vpi, vci) = channel.split_once('/')?;
        Some((vpi.trim().parse().ok()?, vci.trim().parse().ok()?, layer))
    });
    let Some((vpi, vci, layer)) = parts else {
        return Err(Stop::Input(format!("--channel {text}: not a virtual channel and a layer, as in 0/100=aal5-cell")));
    };
    Ok((vpi, vci, named(registry, "--channel", layer.trim())?))
}
