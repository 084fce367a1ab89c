//! How a document is octets in a store: the strings of a transfer, and where they begin and end.
//!
//! Binary files, and texts whose class has control characters, are their octets as they are. Texts of the other classes (Graphic,
//! Visible, PrintableString) have a line for each string, and so have records of FTAM-2: in the store each ends with LF.

use kumiki_octets::Message;
use kumiki_osi::ftam::contents::{ContentsType, DocumentParameter, StringClass};
use kumiki_osi::ftam::oids;

/// The longest line that is one string; a longer one is cut.
const LONGEST_LINE: usize = 64 * 1024;

/// How a document is octets in a store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Form {
    /// FTAM-3: octets, cut anywhere.
    Octets,
    /// FTAM-1 of this class: characters with control characters among them, cut anywhere.
    Text(StringClass),
    /// FTAM-1 of this class: each string is a line.
    Lines(StringClass),
    /// FTAM-2 of this class: each string is a record, a data unit of its own.
    Records(StringClass),
    /// NBS-9: not octets, but what is in a directory.
    Directory,
}

impl Form {
    /// That of a contents type; none where it is no document type that is known here.
    #[must_use]
    pub fn of(contents_type: &ContentsType) -> Option<Self> {
        let ContentsType::Document { name, parameter } = contents_type else {
            return None;
        };
        let class = match parameter {
            Some(DocumentParameter::Strings(strings)) => strings.universal_class,
            Some(DocumentParameter::Attributes(_) | DocumentParameter::Other(_)) | None => None,
        };
        let class = class.unwrap_or_default();
        match *name {
            oids::FTAM_1 if class.has_format_effectors() => Some(Self::Text(class)),
            oids::FTAM_1 => Some(Self::Lines(class)),
            oids::FTAM_2 => Some(Self::Records(class)),
            oids::FTAM_3 => Some(Self::Octets),
            oids::NBS_9 | oids::NBS_9_OLD => Some(Self::Directory),
            _ => None,
        }
    }

    /// The class of its strings, if they are text.
    #[must_use]
    pub const fn class(self) -> Option<StringClass> {
        match self {
            Self::Text(class) | Self::Lines(class) | Self::Records(class) => Some(class),
            Self::Octets | Self::Directory => None,
        }
    }

    /// Whether each string is a line of the store.
    #[must_use]
    pub const fn has_lines(self) -> bool {
        matches!(self, Self::Lines(_) | Self::Records(_))
    }

    /// The string that begins at `offset`, and how many octets of the store it is; none at the end. `read` gives octets from an
    /// offset on, up to a number of them, and fewer only at the end; `most` is the longest string where it may be cut anywhere.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn string_at<E>(
        self,
        offset: u64,
        most: usize,
        mut read: impl FnMut(u64, usize) -> Result<Message, E>,
    ) -> Result<Option<(Message, u64)>, E> {
        let most = most.max(1);
        let mut data = read(offset, most)?;
        if data.is_empty() {
            return Ok(None);
        }
        if !self.has_lines() {
            let len = data.len() as u64;
            return Ok(Some((data, len)));
        }
        let mut wanted = most;
        loop {
            if let Some(at) = line_feed(&data) {
                data.truncate(at);
                return Ok(Some((data, at as u64 + 1)));
            }
            if data.len() < wanted || wanted >= LONGEST_LINE {
                let len = data.len() as u64;
                return Ok(Some((data, len)));
            }
            wanted = wanted.saturating_mul(2).min(LONGEST_LINE);
            data = read(offset, wanted)?;
        }
    }

    /// What a string is in the store.
    #[must_use]
    pub fn stored(self, mut string: Message) -> Message {
        if self.has_lines() {
            string.append_octets(b"\n");
        }
        string
    }
}

/// Where the first LF is.
fn line_feed(data: &Message) -> Option<usize> {
    let (mut before, mut found) = (0, None);
    data.for_each(|part| {
        if found.is_none() {
            found = part
                .iter()
                .position(|octet| *octet == b'\n')
                .map(|at| before + at);
        }
        before += part.len();
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(form: Form, text: &str, most: usize) -> Vec<String> {
        let whole = Message::from_octets(text.as_bytes());
        let mut offset = 0;
        let mut out = Vec::new();
        let read = |at: u64, most: usize| -> Result<Message, ()> {
            let at = usize::try_from(at).unwrap();
            Ok(whole.share(at, most.min(whole.len() - at)).unwrap())
        };
        while let Some((string, len)) = form.string_at(offset, most, read).unwrap() {
            out.push(String::from_utf8(string.to_vec()).unwrap());
            offset += len;
        }
        out
    }

    #[test]
    fn lines_are_strings_and_an_empty_one_is_one_too() {
        let form = Form::Lines(StringClass::Graphic);
        assert_eq!(strings(form, "ab\n\ncdefgh\n", 3), ["ab", "", "cdefgh"]);
        assert_eq!(strings(form, "no end", 2), ["no end"]);
        assert_eq!(strings(form, "", 2), [""; 0]);
        assert_eq!(form.stored(Message::from_octets(b"ab")).to_vec(), b"ab\n");
    }

    #[test]
    fn octets_are_cut_anywhere_and_kept_as_they_are() {
        assert_eq!(strings(Form::Octets, "a\nbc", 3), ["a\nb", "c"]);
        assert_eq!(
            Form::Octets.stored(Message::from_octets(b"ab")).to_vec(),
            b"ab"
        );
        assert_eq!(Form::of(&ContentsType::binary()), Some(Form::Octets));
        let text = ContentsType::text(StringClass::General);
        assert_eq!(Form::of(&text), Some(Form::Text(StringClass::General)));
    }

    #[test]
    fn a_line_without_end_is_cut_and_does_not_fill_the_memory() {
        let form = Form::Lines(StringClass::Visible);
        let strings = strings(form, &"x".repeat(LONGEST_LINE + 5), 100);
        let lengths: Vec<usize> = strings.iter().map(String::len).collect();
        assert_eq!(lengths, [LONGEST_LINE, 5]);
    }
}
