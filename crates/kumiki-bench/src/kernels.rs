//! The kernels of `kumiki-octets`: stuffing, scrambling, parity and frame check sequences, beside the plain loops and a
//! copy.
//!
//! | | |
//! |---|---|
//! | Content | random octets; the characters of ttcp, of which two in 95 are escaped; the same without those (text); Flag Sequences only; zeros. It matters where octets are stuffed, elsewhere it is random |
//! | Measured | octets of the user (before stuffing) in each second of CPU, the median of several runs in turn |
//! | Frames | as many as fill 32 KiB, one after the other, each a call of its own; all in the cache, as the copy beside them is |
//! | Left out | memory beyond the second cache; processors that share it |

use std::hint::black_box;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use kumiki_octets::bip::{Bip8, Interleaved};
use kumiki_octets::crc::{Fcs16, Fcs32};
use kumiki_octets::hdlc::{self, Accm, Unstuffer};
use kumiki_octets::scramble::{self, Descrambler, Scrambler};
use kumiki_octets::{Form, Pattern};
use serde::Serialize;

use crate::load::cpu_s;
use crate::tcp::median;

mod naive;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Kernels {
    /// Fewer and shorter runs
    #[arg(long)]
    quick: bool,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
    /// Runs of each case, of which the median counts
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Only kernels whose name contains this
    #[arg(long)]
    only: Option<String>,
}

/// Octets of a frame.
const SIZES: [usize; 3] = [64, 1500, 9188];

/// Octets of all frames together.
const TOTAL: usize = 32 * 1024;

/// What stands for the plain loop in the column of forms.
const NAIVE: &str = "plain loop";

/// Whose loops do not come in forms of our own.
const LIBRARY: &str = "library";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Random,
    Ttcp,
    Text,
    Flags,
    Zeros,
}

impl Content {
    const ALL: [Self; 5] = [Self::Random, Self::Ttcp, Self::Text, Self::Flags, Self::Zeros];

    const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Ttcp => "ttcp",
            Self::Text => "text",
            Self::Flags => "flags",
            Self::Zeros => "zeros",
        }
    }

    fn frames(self, octets: usize) -> Vec<Vec<u8>> {
        let pattern = match self {
            Self::Random => Pattern::Random { seed: 1 },
            Self::Ttcp | Self::Text => Pattern::Ttcp { write_len: 8192 },
            Self::Flags => Pattern::Fill(hdlc::FLAG),
            Self::Zeros => Pattern::Zeros,
        };
        let mut all = vec![0; (TOTAL / octets).max(1) * octets];
        pattern.fill(0, &mut all);
        if self == Self::Text {
            // Braces are rare in text.
            for octet in &mut all {
                *octet = if *octet > b'z' { b' ' } else { *octet };
            }
        }
        all.chunks(octets).map(<[u8]>::to_vec).collect()
    }
}

/// One thing to measure: every frame once.
struct Case {
    kernel: &'static str,
    form: &'static str,
    content: Content,
    octets: usize,
    /// Octets of the user in one pass.
    pass: usize,
    work: Box<dyn FnMut()>,
}

/// What was measured of one.
#[derive(Debug, Serialize)]
struct Row {
    kernel: &'static str,
    form: &'static str,
    content: Content,
    octets: usize,
    /// 1e9 octets of the user in each second of CPU: the median, the smallest and the largest.
    gbps: f64,
    spread: (f64, f64),
    /// The median beside that of a copy of frames of this size.
    share_of_copy: f64,
}

/// The cases of one kernel that reads frames.
fn reads(
    cases: &mut Vec<Case>,
    (kernel, form): (&'static str, &'static str),
    content: Content,
    work: impl FnMut(&[u8]) + Clone + 'static,
) {
    for octets in SIZES {
        let frames = content.frames(octets);
        let mut work = work.clone();
        cases.push(Case {
            kernel,
            form,
            content,
            octets,
            pass: frames.len() * octets,
            work: Box::new(move || frames.iter().for_each(|frame| work(black_box(frame)))),
        });
    }
}

/// The cases of one kernel that changes frames in place.
fn changes(
    cases: &mut Vec<Case>,
    (kernel, form): (&'static str, &'static str),
    work: impl FnMut(&mut [u8]) + Clone + 'static,
) {
    for octets in SIZES {
        let mut frames = Content::Random.frames(octets);
        let mut work = work.clone();
        cases.push(Case {
            kernel,
            form,
            content: Content::Random,
            octets,
            pass: frames.len() * octets,
            work: Box::new(move || {
                for frame in &mut frames {
                    work(black_box(frame));
                }
            }),
        });
    }
}

/// The cases of one kernel that takes stuffed frames.
fn receives(
    cases: &mut Vec<Case>,
    form: &'static str,
    content: Content,
    work: impl FnMut(&[u8], &mut Vec<u8>) + Clone + 'static,
) {
    for octets in SIZES {
        let plain = content.frames(octets);
        let frames: Vec<Vec<u8>> = plain
            .iter()
            .map(|frame| {
                let mut stuffed = Vec::new();
                hdlc::stuff(frame, Accm::NONE, &mut stuffed);
                stuffed.push(hdlc::FLAG);
                stuffed
            })
            .collect();
        let (mut work, mut out) = (work.clone(), Vec::new());
        cases.push(Case {
            kernel: "unstuff",
            form,
            content,
            octets,
            pass: plain.len() * octets,
            work: Box::new(move || {
                for frame in &frames {
                    out.clear();
                    work(black_box(frame), &mut out);
                    black_box(&out);
                }
            }),
        });
    }
}

fn stuffing(cases: &mut Vec<Case>) {
    for content in Content::ALL {
        for form in [None].into_iter().chain(Form::detected().map(Some)) {
            let name = form.map_or(NAIVE, Form::name);
            let mut out = Vec::new();
            reads(cases, ("stuff", name), content, move |frame| {
                out.clear();
                match form {
                    None => naive::stuff(frame, &mut out),
                    Some(form) => hdlc::stuff_with(form, frame, Accm::NONE, &mut out),
                }
                black_box(&out);
            });
            reads(cases, ("stuffed_len", name), content, move |frame| {
                black_box(match form {
                    None => naive::stuffed_len(frame),
                    Some(form) => hdlc::stuffed_len_with(form, frame, Accm::NONE),
                });
            });
            receives(cases, name, content, move |frame, out| match form {
                None => naive::unstuff(frame, out),
                Some(form) => {
                    let limit = usize::MAX;
                    black_box(Unstuffer::new().unstuff_with(form, frame, Accm::NONE, limit, out));
                }
            });
        }
    }
}

fn others(cases: &mut Vec<Case>) {
    for form in [None].into_iter().chain(Form::detected().map(Some)) {
        let name = form.map_or(NAIVE, Form::name);
        let (mut serial, mut scrambler, mut descrambler) = (0, Scrambler::new(1), Descrambler::new(1));
        changes(cases, ("scramble x^43 + 1", name), move |frame| match form {
            None => naive::scramble(&mut serial, frame),
            Some(form) => scrambler.scramble_with(form, frame),
        });
        changes(cases, ("descramble x^43 + 1", name), move |frame| match form {
            None => naive::descramble(&mut serial, frame),
            Some(form) => descrambler.descramble_with(form, frame),
        });
        changes(cases, ("scramble the frame", name), move |frame| match form {
            None => naive::scramble_frame(frame),
            Some(form) => scramble::frame_with(form, 100, frame),
        });
        reads(cases, ("BIP-8", name), Content::Random, move |frame| {
            black_box(match form {
                None => naive::bip8(frame),
                Some(form) => {
                    let mut parity = Bip8::new();
                    parity.update_with(form, frame);
                    parity.value()
                }
            });
        });
        let (mut plain, mut parities) = ([0; 12], Interleaved::new(12));
        reads(cases, ("12 x BIP-8", name), Content::Random, move |frame| match (form, &mut parities) {
            (Some(form), Some(parities)) => parities.update_with(form, frame),
            (None, _) | (_, None) => naive::interleaved(&mut plain, frame),
        });
    }
    reads(cases, ("FCS-16", NAIVE), Content::Random, |frame| {
        black_box(naive::fcs16(frame));
    });
    reads(cases, ("FCS-16", LIBRARY), Content::Random, |frame| {
        let mut fcs = Fcs16::new();
        fcs.update(frame);
        black_box(fcs.finish());
    });
    reads(cases, ("FCS-32", NAIVE), Content::Random, |frame| {
        black_box(naive::fcs32(frame));
    });
    reads(cases, ("FCS-32", LIBRARY), Content::Random, |frame| {
        let mut fcs = Fcs32::new();
        fcs.update(frame);
        black_box(fcs.finish());
    });
}

/// The copy that all are set beside.
fn copies(cases: &mut Vec<Case>) {
    let mut to = vec![0; TOTAL];
    reads(cases, ("copy", LIBRARY), Content::Random, move |frame| {
        if let Some(to) = to.get_mut(..frame.len()) {
            to.copy_from_slice(frame);
        }
        black_box(&to);
    });
}

/// 1e9 octets in each second of CPU.
#[expect(clippy::cast_precision_loss, reason = "counts of octets are far below 2^52")]
fn speed(case: &mut Case, seconds: f64) -> f64 {
    let (mut passes, mut round, begin) = (0_usize, 1, cpu_s());
    loop {
        for _ in 0..round {
            (case.work)();
        }
        passes += round;
        let spent = cpu_s() - begin;
        if spent >= seconds {
            return (passes * case.pass) as f64 / spent / 1e9;
        }
        // Reading the clock is not to be measured.
        round *= 2;
    }
}

/// Measures and prints.
pub(crate) fn measure(what: &Kernels) -> Result<(), String> {
    let mut cases = Vec::new();
    copies(&mut cases);
    stuffing(&mut cases);
    others(&mut cases);
    if let Some(only) = &what.only {
        cases.retain(|case| case.kernel.contains(only.as_str()) || case.kernel == "copy");
    }
    let (runs, seconds) = if what.quick { (what.runs.min(3), 2e-4) } else { (what.runs, 2e-3) };
    let mut speeds = vec![Vec::new(); cases.len()];
    for _ in 0..runs.max(1) {
        for (case, speeds) in cases.iter_mut().zip(&mut speeds) {
            speeds.push(speed(case, seconds));
        }
    }
    let mut rows: Vec<Row> = cases
        .iter()
        .zip(&speeds)
        .map(|(case, speeds)| Row {
            kernel: case.kernel,
            form: case.form,
            content: case.content,
            octets: case.octets,
            gbps: median(speeds),
            spread: (speeds.iter().copied().fold(f64::INFINITY, f64::min), speeds.iter().copied().fold(0.0, f64::max)),
            share_of_copy: 0.0,
        })
        .collect();
    let copies: Vec<(usize, f64)> =
        rows.iter().filter(|row| row.kernel == "copy").map(|row| (row.octets, row.gbps)).collect();
    for row in &mut rows {
        let copy = copies.iter().find(|(octets, _)| *octets == row.octets);
        row.share_of_copy = copy.map_or(f64::NAN, |(_, copy)| row.gbps / copy);
    }
    if what.json {
        let text = serde_json::to_string_pretty(&rows).map_err(|why| why.to_string())?;
        println!("{text}");
    } else {
        println!("{}", table(&rows));
    }
    Ok(())
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let sizes = SIZES.iter().map(|octets| format!("{octets} octets, GB/s (of copy)"));
    let head = ["kernel", "content", "form"].map(str::to_owned);
    table.set_header(head.into_iter().chain(sizes));
    // A kernel's sizes stand one after the other.
    for same in rows.chunks(SIZES.len()) {
        let Some(first) = same.first() else { continue };
        let cells = same.iter().map(|row| format!("{:.2} ({:.0} %)", row.gbps, row.share_of_copy * 100.0));
        let head = [first.kernel, first.content.name(), first.form].map(str::to_owned);
        table.add_row(head.into_iter().chain(cells));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
