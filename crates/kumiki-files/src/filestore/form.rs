//! How a document is octets in a store: the strings of a transfer, and where they begin and end.
//!
//! Binary files, and texts whose class has control characters, are their octets as they are. Texts of the other classes
//! (Graphic, Visible, PrintableString) have a line for each string, and so have records of FTAM-2: in the store each
//! ends with LF.
//!
//! So where octets are cut anywhere, the boundaries of strings are not kept, and a type that says that they mean
//! something is refused. One that says nothing of it means that they do (the default is "variable"); since most who
//! leave the parameter away do not care, it is taken, and answered as "not significant".

use kumiki_octets::Message;
use kumiki_osi_service::ftam::contents::{ContentsType, DocumentParameter, Significance, StringClass, StringParameter};
use kumiki_osi_service::ftam::oids;

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
        let class = strings(parameter.as_ref()).universal_class;
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

    /// The contents type as which a store keeps a document of type `wanted` in this form: the same, or with strings
    /// that do not mean anything where nothing was said of them.
    ///
    /// # Errors
    /// What of it cannot be kept, in words.
    pub fn settled(self, wanted: &ContentsType) -> Result<ContentsType, String> {
        let ContentsType::Document { name, parameter } = wanted else {
            return Ok(wanted.clone());
        };
        let strings = strings(parameter.as_ref());
        match (self, strings.significance) {
            (Self::Directory, _) => Ok(wanted.clone()),
            (_, Some(Significance::Fixed)) if strings.maximum_length.is_none() => {
                Err("strings of fixed length need a maximum length".to_owned())
            }
            (Self::Lines(_) | Self::Records(_), _) => Ok(wanted.clone()),
            (Self::Octets | Self::Text(_), Some(Significance::NotSignificant)) => Ok(wanted.clone()),
            (Self::Octets | Self::Text(_), Some(meaning @ (Significance::Variable | Significance::Fixed))) => {
                Err(format!("boundaries of strings are not kept, and here they are {meaning}"))
            }
            (Self::Octets | Self::Text(_), None) => Ok(ContentsType::Document {
                name: *name,
                parameter: Some(DocumentParameter::Strings(StringParameter {
                    significance: Some(Significance::NotSignificant),
                    ..strings
                })),
            }),
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

    /// The string that begins at `offset`, and how many octets of the store it is; none at the end. `read` gives octets
    /// from an offset on, up to a number of them, and fewer only at the end; `most` is the longest string where it may
    /// be cut anywhere.
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

/// The parameter of a document type of strings; that which says nothing where there is none.
fn strings(parameter: Option<&DocumentParameter>) -> StringParameter {
    match parameter {
        Some(DocumentParameter::Strings(strings)) => *strings,
        Some(DocumentParameter::Attributes(_) | DocumentParameter::Other(_)) | None => StringParameter::default(),
    }
}

/// How long the strings of a document may be. Characters are counted as the octets that they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lengths {
    most: Option<u64>,
    /// Each has the most.
    fixed: bool,
}

impl Lengths {
    /// Those of a contents type.
    #[must_use]
    pub fn of(contents_type: &ContentsType) -> Self {
        let ContentsType::Document { parameter, .. } = contents_type else {
            return Self::default();
        };
        let strings = strings(parameter.as_ref());
        Self { most: strings.maximum_length, fixed: strings.significance == Some(Significance::Fixed) }
    }

    /// The longest string to send, where `element` octets would be sent otherwise.
    #[must_use]
    pub fn longest(self, element: usize) -> usize {
        let most = self.most.and_then(|most| usize::try_from(most).ok());
        most.map_or(element, |most| element.min(most)).max(1)
    }

    /// Whether a string of so many octets may be.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check(self, octets: usize) -> Result<(), String> {
        match self.most {
            Some(most) if octets as u64 > most => {
                Err(format!("a string has {octets} octets, and the document type allows {most}"))
            }
            Some(most) if self.fixed && octets as u64 != most => {
                Err(format!("a string has {octets} octets, and in this document each has {most}"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Where the first LF is.
fn line_feed(data: &Message) -> Option<usize> {
    let (mut before, mut found) = (0, None);
    data.for_each(|part| {
        if found.is_none() {
            found = part.iter().position(|octet| *octet == b'\n').map(|at| before + at);
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
        assert_eq!(Form::Octets.stored(Message::from_octets(b"ab")).to_vec(), b"ab");
        assert_eq!(Form::of(&ContentsType::binary()), Some(Form::Octets));
        let text = ContentsType::text(StringClass::General);
        assert_eq!(Form::of(&text), Some(Form::Text(StringClass::General)));
    }

    fn of(name: kumiki_osi_service::Oid, significance: Option<Significance>) -> ContentsType {
        ContentsType::Document {
            name,
            parameter: Some(DocumentParameter::Strings(StringParameter {
                universal_class: None,
                maximum_length: Some(3),
                significance,
            })),
        }
    }

    #[test]
    fn boundaries_that_mean_something_are_refused_where_they_are_not_kept() {
        let (variable, fixed) = (Some(Significance::Variable), Some(Significance::Fixed));
        let not = Some(Significance::NotSignificant);
        for significance in [variable, fixed] {
            let wanted = of(oids::FTAM_3, significance);
            assert!(Form::Octets.settled(&wanted).is_err(), "{wanted}");
        }
        let bare = Form::Octets.settled(&of(oids::FTAM_3, None));
        assert_eq!(bare, Ok(of(oids::FTAM_3, not)));
        // Of GraphicString each string is a line.
        for significance in [variable, fixed, not, None] {
            let wanted = of(oids::FTAM_1, significance);
            let form = Form::of(&wanted).unwrap();
            assert_eq!(form.settled(&wanted), Ok(wanted.clone()));
        }
    }

    #[test]
    fn strings_have_the_length_that_the_type_says() {
        let variable = Lengths::of(&of(oids::FTAM_1, None));
        assert_eq!((variable.longest(8000), variable.longest(2)), (3, 2));
        assert!(variable.check(4).is_err());
        assert_eq!(variable.check(2), Ok(()));
        let fixed = Lengths::of(&of(oids::FTAM_1, Some(Significance::Fixed)));
        assert!(fixed.check(2).is_err());
        assert_eq!(fixed.check(3), Ok(()));
        assert_eq!(Lengths::of(&ContentsType::binary()).check(1 << 30), Ok(()));
    }

    #[test]
    fn a_line_without_end_is_cut_and_does_not_fill_the_memory() {
        let form = Form::Lines(StringClass::Visible);
        let strings = strings(form, &"x".repeat(LONGEST_LINE + 5), 100);
        let lengths: Vec<usize> = strings.iter().map(String::len).collect();
        assert_eq!(lengths, [LONGEST_LINE, 5]);
    }
}
