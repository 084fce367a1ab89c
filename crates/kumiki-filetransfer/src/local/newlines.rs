//! Files whose lines end with CR LF where they are transferred, and with LF here ([`CrlfToLf`], [`LfToCrlf`]).
//!
//! What comes is kept as it came until all of it is there, so that a transfer can go on by octets, and be compared;
//! only then it is converted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use crate::files::disk::Disk;
pub(super) use crate::osi::CrlfToLf;
use crate::osi::LfToCrlf;

/// Octets that are converted at a time.
const PART: usize = 64 * 1024;

/// Converts a file that has come, in its place; gives its size then.
pub(super) fn localise<D: Disk>(disk: &D, file: &D::File) -> io::Result<u64> {
    let (mut localiser, mut out) = (CrlfToLf::default(), Vec::with_capacity(PART));
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
pub(super) fn globalise(from: &File, to: &File) -> io::Result<u64> {
    let (mut globaliser, mut out) = (LfToCrlf::default(), Vec::with_capacity(2 * PART));
    let mut written = 0;
    let read = |part: &mut [u8], at| from.read_at(part, at);
    each_part(read, |octets| {
        globaliser.take(octets, &mut out);
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

    use crate::files::disk::System;

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
    fn a_file_is_converted_in_its_place() {
        for (there, here) in [
            (&b"a\r\nb\r\n"[..], &b"a\nb\n"[..]),
            (b"a\nb\rc\r", b"a\nb\rc\r"),
            (b"\r\r\n\n\r", b"\r\n\n\r"),
            (b"", b""),
        ] {
            let whole = OwnedFd::from(file(there));
            assert_eq!(localise(&System, &whole).unwrap(), here.len() as u64);
            assert_eq!(read(&whole.into()), here);
        }
    }

    #[test]
    fn a_text_of_several_parts_goes_there_and_back() {
        let here: Vec<u8> = (0..PART).flat_map(|n| format!("{n}\n").into_bytes()).collect();
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
