//! How something begins, to show somebody what has come.

use core::fmt;

use smallvec::SmallVec;

/// How something begins, and how long all of it is: to show somebody what has come.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Beginning {
    octets: SmallVec<[u8; Self::MOST]>,
    whole: usize,
}

impl Beginning {
    /// So many octets are kept.
    pub const MOST: usize = 32;

    /// How `octets` begin, of something that has `whole` of them; of no fewer than are here.
    #[must_use]
    pub fn of(octets: &[u8], whole: usize) -> Self {
        let kept = octets.get(..Self::MOST).unwrap_or(octets);
        Self { octets: SmallVec::from_slice(kept), whole: whole.max(octets.len()) }
    }

    /// The first octets; none where nothing is to be shown.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// How many octets there are in all.
    #[must_use]
    pub const fn whole(&self) -> usize {
        self.whole
    }

    /// No more of it than the first `most` octets, for what follows them is not to be shown.
    #[must_use]
    pub fn up_to(mut self, most: usize) -> Self {
        self.octets.truncate(most);
        self
    }
}

impl From<&[u8]> for Beginning {
    fn from(all: &[u8]) -> Self {
        Self::of(all, all.len())
    }
}

impl<const N: usize> From<&[u8; N]> for Beginning {
    fn from(all: &[u8; N]) -> Self {
        Self::from(&all[..])
    }
}

/// `31 80 a0 ...`: the points say that there is more.
impl fmt::Display for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, octet) in self.octets.iter().enumerate() {
            let blank = if n == 0 { "" } else { " " };
            write!(f, "{blank}{octet:02x}")?;
        }
        let is_cut = !self.octets.is_empty() && self.octets.len() < self.whole;
        f.write_str(if is_cut { " ..." } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn what_is_left_out_is_told_and_nothing_else() {
        let shown = |octets: &[u8]| Beginning::from(octets).to_string();
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[0x0d, 0xff]), "0d ff");
        let whole = shown(&[7; Beginning::MOST]);
        assert_eq!(whole, ["07"; Beginning::MOST].join(" "));
        assert_eq!(shown(&[7; Beginning::MOST + 1]), format!("{whole} ..."));
        assert_eq!(Beginning::from(&[1, 2, 3]).up_to(2).to_string(), "01 02 ...");
        assert_eq!(Beginning::from(&[1, 2]).up_to(2).to_string(), "01 02");
        assert_eq!(Beginning::from(&[1, 2]).up_to(0).to_string(), "");
        // Of a message, the same, and of a header the rest of which is elsewhere.
        let message = Message::from_octets(&[7; 40]);
        assert_eq!(message.beginning().to_string(), format!("{whole} ..."));
        assert_eq!(message.beginning().whole(), 40);
        assert_eq!(message.beginning_up_to(2).to_string(), "07 07 ...");
        assert_eq!(message.beginning_up_to(100), message.beginning());
        assert_eq!(Beginning::of(&[2, 0xf0, 0x80], 1000).to_string(), "02 f0 80 ...");
    }
}
