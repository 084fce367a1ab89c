//! Selectors: by what a transport, session or presentation entity finds its users (X.200 section 5.4).
//!
//! Any octets; most equipment has two of them, or some text. [`Selector`]'s text forms are those that people of the
//! field write:
//!
//! | text | octets |
//! |---|---|
//! | `0x0103` | as they stand, in hexadecimal |
//! | `#259` | a number, two octets, the high one first (as ISODE writes it) |
//! | `"FTAM"`, or `FTAM` where it begins with neither `0x` nor `#` | as they stand, one for each character of ASCII |
//! | nothing | none: the selector is there and empty |

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// The most octets of a selector: a transport selector has up to 32 (X.650), a session selector 16, a presentation
/// selector what its users like.
pub const MOST: usize = 32;

/// A selector; see the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Selector {
    octets: [u8; MOST],
    len: u8,
}

/// Why octets or text are no selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BadSelector {
    /// More than [`MOST`] octets.
    #[error("a selector of more than {MOST} octets")]
    Long,
    /// Behind `0x` stand no pairs of hexadecimal digits.
    #[error("behind 0x, pairs of hexadecimal digits are expected, as in 0x0103")]
    Hexadecimal,
    /// Behind `#` stands no number of two octets.
    #[error("behind #, a number from 0 to 65535 is expected, as in #259")]
    Number,
    /// A character beyond ASCII.
    #[error("characters of ASCII are expected; other octets can be given as in 0x0103")]
    Text,
}

impl Selector {
    /// From its octets.
    ///
    /// # Errors
    /// There are more than [`MOST`].
    pub fn new(octets: &[u8]) -> Result<Self, BadSelector> {
        let mut selector = Self::default();
        selector.octets.get_mut(..octets.len()).ok_or(BadSelector::Long)?.copy_from_slice(octets);
        selector.len = u8::try_from(octets.len()).map_err(|_| BadSelector::Long)?;
        Ok(selector)
    }

    /// Its octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Display for Selector {
    /// As text where it is some, else in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = self.octets();
        let plain = octets.iter().all(|octet| octet.is_ascii_graphic() && *octet != b'"');
        match core::str::from_utf8(octets) {
            Ok(text) if plain => write!(f, "\"{text}\""),
            Ok(_) | Err(_) => {
                f.write_str("0x")?;
                octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
            }
        }
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Selector {
    type Err = BadSelector;

    fn from_str(text: &str) -> Result<Self, BadSelector> {
        if let Some(digits) = text.strip_prefix("0x") {
            return Self::new(&hexadecimal(digits).ok_or(BadSelector::Hexadecimal)?);
        }
        if let Some(number) = text.strip_prefix('#') {
            let number: u16 = number.parse().map_err(|_| BadSelector::Number)?;
            return Self::new(&number.to_be_bytes());
        }
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        if !bare.is_ascii() {
            return Err(BadSelector::Text);
        }
        Self::new(bare.as_bytes())
    }
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}

/// The selectors of one side, each where it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Selectors {
    /// Of the transport entity's user (TSEL).
    pub transport: Option<Selector>,
    /// Of the session entity's user (SSEL).
    pub session: Option<Selector>,
    /// Of the presentation entity's user (PSEL).
    pub presentation: Option<Selector>,
}

impl Selectors {
    /// Whether who wants to be called by these is meant by `called`: how many of them name it. One that is not said
    /// does not matter.
    #[must_use]
    pub fn fit(&self, called: &Self) -> Option<usize> {
        let pairs = [
            (self.transport, called.transport),
            (self.session, called.session),
            (self.presentation, called.presentation),
        ];
        pairs.into_iter().try_fold(0, |named, (wanted, said)| match wanted {
            None => Some(named),
            Some(_) => (wanted == said).then_some(named + 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn octets(text: &str) -> Vec<u8> {
        text.parse::<Selector>().unwrap().octets().to_vec()
    }

    #[test]
    fn people_write_selectors_in_three_ways() {
        assert_eq!(octets("0x0103"), [1, 3]);
        assert_eq!(octets("#259"), [1, 3]);
        assert_eq!(octets("FTAM"), *b"FTAM");
        assert_eq!(octets("\"0x\""), *b"0x");
        assert_eq!(octets(""), [0; 0]);
        assert_eq!(octets("0x"), [0; 0]);
    }

    #[test]
    fn a_wrong_selector_is_told_apart() {
        let bad = |text: &str| text.parse::<Selector>().unwrap_err();
        assert_eq!(bad("0x013"), BadSelector::Hexadecimal);
        assert_eq!(bad("0xäa"), BadSelector::Hexadecimal);
        assert_eq!(bad("#65536"), BadSelector::Number);
        assert_eq!(bad("Büro"), BadSelector::Text);
        assert_eq!(bad(&"x".repeat(33)), BadSelector::Long);
    }

    #[test]
    fn who_is_called_is_named_by_all_that_it_says() {
        let selectors = |transport: &str, session: &str| Selectors {
            transport: transport.parse().ok().filter(|_| !transport.is_empty()),
            session: session.parse().ok().filter(|_| !session.is_empty()),
            presentation: None,
        };
        let called = selectors("#1", "x");
        for (wanted, named) in [
            (selectors("", ""), Some(0)),
            (selectors("#1", ""), Some(1)),
            (selectors("#1", "x"), Some(2)),
            (selectors("#2", "x"), None),
        ] {
            assert_eq!(wanted.fit(&called), named);
        }
        assert_eq!(called.fit(&selectors("", "x")), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(octets in proptest::collection::vec(any::<u8>(), 0..=MOST)) {
            let selector = Selector::new(&octets).unwrap();
            prop_assert_eq!(selector.to_string().parse(), Ok(selector));
        }
    }
}
