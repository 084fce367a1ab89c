//! Ends of lines: CR LF where a text is transferred with control characters, LF here.
//!
//! ISO 8571 leaves it to the local system what ends a line in a file; between systems it is CR LF (ISO 646's format effectors), which is what ISODE sends.
//! What comes is kept as it came until all of it is there, so that a transfer can go on by octets, and be compared; only then it is converted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use kumiki_lab::live::files::disk::Disk;

/// Octets that are converted at a time.
const PART: usize = 64 * 1024;

/// Takes CR away before LF, in a text that comes in parts.
#[derive(Debug, Default)]
pub(crate) struct Localiser {
    /// CR was the last, and nothing was said of it yet.
    cr: bool,
}

impl Localiser {
    /// Adds to `out` what stands for `octets` here.
    pub(crate) fn take(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        for &octet in octets {
            if core::mem::take(&mut self.cr) && octet != b'\n' {
                out.push(b'\r');
            }
            if octet == b'\r' {
                self.cr = true;
            } else {
                out.push(octet);
            }
        }
    }

    /// Adds to `out` what is left at the end.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if core::mem::take(&mut self.cr) {
            out.push(b'\r');
        }
    }
}

/// Converts a file that has come, in its place; gives its size then.
pub(crate) fn localise<D: Disk>(disk: &D, file: &D::File) -> io::Result<u64> {
    let (mut localiser, mut out) = (Localiser::default(), Vec::with_capacity(PART));
    let mut written = 0;
    let read = |part: &mut [u8], at| Ok(disk.read(file, part, at)?);
    each_part(read, |octets| {
        localiser.take(octets, &mut out);
        // There are never more than were read, so nothing is written over what is still to be read.
        disk.write_all(file, &out, written)?;
        written = written.saturating_add(out.len() as u64);
        out.clear();
        Ok(())
    })?;
    localiser.end(&mut out);
    disk.write_all(file, &out, written)?;
    written = written.saturating_add(out.len() as u64);
    disk.set_size(file, written)?;
    Ok(written)
}

/// Writes what is sent for a file to another one; gives the size of that. LF that has CR before it already stays.
pub(crate) fn globalise(from: &File, to: &File) -> io::Result<u64> {
    let (mut cr, mut out) = (false, Vec::with_capacity(2 * PART));
    let mut written = 0;
    let read = |part: &mut [u8], at| from.read_at(part, at);
    each_part(read, |octets| {
        for &octet in octets {
            if octet == b'\n' && !cr {
                out.push(b'\r');
            }
            out.push(octet);
            cr = octet == b'\r';
        }
        to.write_all_at(&out, written)?;
        written = written.saturating_add(out.len() as u64);
        out.clear();
        Ok(())
    })?;
    Ok(written)
}

/// Reads a file from its beginning to its end.
fn each_part(
    read: impl Fn(&mut [u8], u64) -> io::Result<usize>,
    mut act: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut part, mut at) = (vec![0; PART], 0);
    loop {
        match read(&mut part, at) {
            Ok(0) => return Ok(()),
            Ok(len) => {
                act(part.get(..len).unwrap_or_default())?;
                at = at.saturating_add(len as u64);
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use kumiki_lab::live::files::disk::System;

    use super::*;

    fn file(octets: &[u8]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(octets, 0).unwrap();
        file
    }

    fn read(file: &File) -> Vec<u8> {
        let mut all = Vec::new();
        let octets = |part: &mut [u8], at| file.read_at(part, at);
        each_part(octets, |part| {
            all.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn only_cr_before_lf_goes_wherever_the_text_is_cut() {
        for (there, here) in [
            (&b"a\r\nb\r\n"[..], &b"a\nb\n"[..]),
            (b"a\nb\rc\r", b"a\nb\rc\r"),
            (b"\r\r\n\n\r", b"\r\n\n\r"),
            (b"", b""),
        ] {
            for cut in 0..=there.len() {
                let (mut localiser, mut out) = (Localiser::default(), Vec::new());
                let (first, second) = there.split_at(cut);
                localiser.take(first, &mut out);
                localiser.take(second, &mut out);
                localiser.end(&mut out);
                assert_eq!(out, here, "{cut}");
            }
            let whole = OwnedFd::from(file(there));
            assert_eq!(localise(&System, &whole).unwrap(), here.len() as u64);
            assert_eq!(read(&whole.into()), here);
        }
    }

    #[test]
    fn a_text_of_several_parts_goes_there_and_back() {
        let here: Vec<u8> = (0..PART)
            .flat_map(|n| format!("{n}\n").into_bytes())
            .collect();
        let sent = file(b"");
        let size = globalise(&file(&here), &sent).unwrap();
        assert_eq!(size, (here.len() + PART) as u64);
        let again = file(b"");
        assert_eq!(globalise(&sent, &again).unwrap(), size);
        let sent = OwnedFd::from(sent);
        assert_eq!(localise(&System, &sent).unwrap(), here.len() as u64);
        assert!(read(&sent.into()) == here);
    }
}
