//! Ends of lines: CR LF where a text is transferred with control characters, LF where it is kept.
//!
//! ISO 8571 leaves it to the local system what ends a line in a file; between systems it is CR LF (ISO 646's format
//! effectors), which is what ISODE sends. CR that has no LF behind it stays on both ways, and so does LF that has CR
//! before it where it is kept. LF alone that is transferred is LF where it is kept, and so comes back with CR before
//! it.

use kumiki_octets::Message;

/// A place in a file that is transferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Point {
    /// So many octets of the store are behind.
    pub(crate) octets: u64,
    /// The last octet that was transferred is CR of a text whose lines end otherwise here. Of what is written it is not
    /// in the store yet.
    pub(crate) cr: bool,
}

/// Takes CR away before LF, in a text that comes in parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrlfToLf {
    /// CR was the last, and nothing was said of it yet.
    cr: bool,
}

impl CrlfToLf {
    /// Adds to `out` what stands for `octets` where the text is kept.
    pub fn take(&mut self, octets: &[u8], out: &mut Vec<u8>) {
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
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if core::mem::take(&mut self.cr) {
            out.push(b'\r');
        }
    }
}

/// Puts CR before LF where there is none yet, in a text that is read in parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct LfToCrlf {
    /// CR was the last.
    cr: bool,
}

impl LfToCrlf {
    /// Adds to `out` what is transferred for `octets`.
    pub fn take(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        self.take_until(octets, usize::MAX, out);
    }

    /// The same up to the octet with which `out` would be longer than `most`, but for the first. Gives how many were
    /// taken.
    fn take_until(&mut self, octets: &[u8], most: usize, out: &mut Vec<u8>) -> usize {
        for (at, &octet) in octets.iter().enumerate() {
            let alone = octet == b'\n' && !self.cr;
            let len = out.len() + 1 + usize::from(alone);
            if len > most && !out.is_empty() {
                return at;
            }
            if alone {
                out.push(b'\r');
            }
            out.push(octet);
            self.cr = octet == b'\r';
        }
        octets.len()
    }
}

/// What is to be written behind `at` for what came, and where it ends then.
pub(super) fn localised(at: Point, data: &Message) -> (Message, Point) {
    let (mut localiser, mut out) = (CrlfToLf { cr: at.cr }, Vec::with_capacity(data.len() + 1));
    data.for_each(|octets| localiser.take(octets, &mut out));
    let end = Point { octets: at.octets.saturating_add(out.len() as u64), cr: localiser.cr };
    (Message::owning(out), end)
}

/// What is transferred for the octets of the store behind `at`, up to `most` octets and at least one line's end, and
/// where it ends; none at the end. `read` gives octets of the store as for [`Form::string_at`](super::Form::string_at).
///
/// # Errors
/// Those of `read`.
pub(super) fn string_at<E>(
    at: Point,
    most: usize,
    mut read: impl FnMut(u64, usize) -> Result<Message, E>,
) -> Result<Option<(Message, Point)>, E> {
    let most = most.max(1);
    let data = read(at.octets, most)?;
    if data.is_empty() {
        return Ok(None);
    }
    let (mut globaliser, mut out) = (LfToCrlf { cr: at.cr }, Vec::with_capacity(most));
    let (mut taken, mut is_full) = (0, false);
    data.for_each(|octets| {
        if !is_full {
            let len = globaliser.take_until(octets, most, &mut out);
            taken += len;
            is_full = len < octets.len();
        }
    });
    let end = Point { octets: at.octets.saturating_add(taken as u64), cr: globaliser.cr };
    Ok(Some((Message::owning(out), end)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let octet = prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'a')];
        prop::collection::vec(octet, 0..40)
    }

    fn localised_whole(text: &[u8]) -> Vec<u8> {
        let (mut localiser, mut out) = (CrlfToLf::default(), Vec::new());
        localiser.take(text, &mut out);
        localiser.end(&mut out);
        out
    }

    fn globalised_whole(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        LfToCrlf::default().take(text, &mut out);
        out
    }

    #[test]
    fn only_cr_before_lf_goes() {
        for (there, here) in [
            (&b"a\r\nb\r\n"[..], &b"a\nb\n"[..]),
            (b"a\nb\rc\r", b"a\nb\rc\r"),
            (b"\r\r\n\n\r", b"\r\n\n\r"),
            (b"", b""),
        ] {
            assert_eq!(localised_whole(there), here);
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_the_same_wherever_the_text_is_cut(
            text in text(), cuts in prop::collection::vec(0_usize..10, 0..20),
        ) {
            let (mut at, mut out, mut rest) = (Point::default(), Vec::new(), &text[..]);
            for cut in cuts.into_iter().chain([text.len()]) {
                let (part, behind) = rest.split_at(cut.min(rest.len()));
                let (data, end) = localised(at, &Message::from_octets(part));
                out.extend(data.to_vec());
                prop_assert_eq!(end.octets, out.len() as u64);
                (at, rest) = (end, behind);
            }
            if at.cr {
                out.push(b'\r');
            }
            prop_assert_eq!(out, localised_whole(&text));
        }

        #[test]
        fn what_is_sent_is_the_same_however_long_its_strings(text in text(), most in 2_usize..12) {
            let whole = Message::from_octets(&text);
            let read = |at: u64, most: usize| -> Result<Message, ()> {
                let at = usize::try_from(at).unwrap();
                Ok(whole.share(at, most.min(whole.len() - at)).unwrap())
            };
            let (mut at, mut out) = (Point::default(), Vec::new());
            while let Some((string, end)) = string_at(at, most, read).unwrap() {
                prop_assert!(!string.is_empty() && string.len() <= most);
                out.extend(string.to_vec());
                at = end;
            }
            prop_assert_eq!(&out, &globalised_whole(&text));
            // There, here and there again it is the same, but for CR before the end of a line.
            if !out.windows(3).any(|it| it == b"\r\r\n") {
                prop_assert_eq!(globalised_whole(&localised_whole(&out)), out);
            }
        }
    }
}
