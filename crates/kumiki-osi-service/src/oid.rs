//! Object identifiers (ITU-T X.660), held as the content octets that X.690 section 8.19 gives them.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// The most content octets held. The longest in use by what Kumiki speaks has 8.
pub const MOST: usize = 39;

/// An object identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid {
    octets: [u8; MOST],
    len: u8,
}

/// Why octets or text are no object identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BadOid {
    /// No octets, or fewer than two arcs.
    #[error("an object identifier has at least two arcs, such as 1.0")]
    Empty,
    /// More than [`MOST`] octets.
    #[error("an object identifier of more than {MOST} octets")]
    Long,
    /// The last arc has no end, an arc begins with a zero group, or one does not fit into 64 bits.
    #[error("an arc that does not end, has a leading zero, or is larger than 64 bits")]
    Arc,
    /// The first arc is above 2, or the second above 39 under 0 and 1.
    #[error("the first arc is 0, 1 or 2, and the second below 40 under 0 and 1")]
    Root,
    /// Not numbers with dots between them.
    #[error("\"1.0.8571.2.1\" is how an object identifier is written: numbers with dots between them")]
    Text,
}

impl Oid {
    /// From its arcs; for constants, where a mistake is one of the compiler's.
    ///
    /// # Panics
    /// If these arcs are no object identifier, or one of more than [`MOST`] octets.
    #[must_use]
    pub const fn of(arcs: &[u64]) -> Self {
        match Self::from_arcs(arcs) {
            Ok(oid) => oid,
            Err(_) => panic!("no object identifier"),
        }
    }

    /// From its arcs.
    ///
    /// # Errors
    /// [`BadOid`] says what is wrong with them.
    pub const fn from_arcs(arcs: &[u64]) -> Result<Self, BadOid> {
        let [first, second, rest @ ..] = arcs else {
            return Err(BadOid::Empty);
        };
        if *first > 2 || (*first < 2 && *second > 39) {
            return Err(BadOid::Root);
        }
        let Some(root) = second.checked_add(*first * 40) else {
            return Err(BadOid::Arc);
        };
        let mut oid = Self { octets: [0; MOST], len: 0 };
        oid = match oid.with(root) {
            Ok(oid) => oid,
            Err(why) => return Err(why),
        };
        let mut rest = rest;
        while let [arc, more @ ..] = rest {
            oid = match oid.with(*arc) {
                Ok(oid) => oid,
                Err(why) => return Err(why),
            };
            rest = more;
        }
        Ok(oid)
    }

    /// This and one more subidentifier behind it.
    const fn with(mut self, arc: u64) -> Result<Self, BadOid> {
        let mut groups = 1;
        while groups < 10 && arc >> (7 * groups) != 0 {
            groups += 1;
        }
        while groups > 0 {
            groups -= 1;
            let more = if groups > 0 { 0x80 } else { 0 };
            let at = self.len as usize;
            if at >= MOST {
                return Err(BadOid::Long);
            }
            #[expect(
                clippy::indexing_slicing,
                reason = "the place is below MOST, seven bits fit, and constants are made in here"
            )]
            {
                self.octets[at] = ((arc >> (7 * groups)) & 0x7f) as u8 | more;
            }
            self.len += 1;
        }
        Ok(self)
    }

    /// From the content octets of X.690 section 8.19.
    ///
    /// # Errors
    /// [`BadOid`] says what is wrong with them.
    pub fn from_content(content: &[u8]) -> Result<Self, BadOid> {
        if content.is_empty() {
            return Err(BadOid::Empty);
        }
        let len = u8::try_from(content.len()).map_err(|_| BadOid::Long)?;
        let mut octets = [0; MOST];
        octets.get_mut(..content.len()).ok_or(BadOid::Long)?.copy_from_slice(content);
        let mut fresh = true;
        let mut arc = 0_u64;
        for octet in content {
            if fresh && *octet == 0x80 || arc >> 57 != 0 {
                return Err(BadOid::Arc);
            }
            arc = arc << 7 | u64::from(octet & 0x7f);
            fresh = octet & 0x80 == 0;
            if fresh {
                arc = 0;
            }
        }
        if !fresh {
            return Err(BadOid::Arc);
        }
        Ok(Self { octets, len })
    }

    /// The content octets of X.690 section 8.19.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The arcs in order.
    pub fn arcs(&self) -> impl Iterator<Item = u64> + '_ {
        let mut subidentifiers = self
            .content()
            .split_inclusive(|octet| octet & 0x80 == 0)
            .map(|groups| groups.iter().fold(0_u64, |arc, octet| arc << 7 | u64::from(octet & 0x7f)));
        let root = subidentifiers.next().unwrap_or(0);
        let first = (root / 40).min(2);
        [first, root - 40 * first].into_iter().chain(subidentifiers)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, arc) in self.arcs().enumerate() {
            if n > 0 {
                f.write_str(".")?;
            }
            arc.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Oid {
    type Err = BadOid;

    fn from_str(text: &str) -> Result<Self, BadOid> {
        let arcs: Result<Vec<u64>, _> = text.split('.').map(str::parse).collect();
        Self::from_arcs(&arcs.map_err(|_| BadOid::Text)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PCI: Oid = Oid::of(&[1, 0, 8571, 2, 1]);

    #[test]
    fn what_an_isode_association_names_is_written_as_there() {
        assert_eq!(PCI.content(), [0x28, 0xc2, 0x7b, 0x02, 0x01]);
        assert_eq!(Oid::of(&[2, 2, 1, 0, 1]).content(), [0x52, 1, 0, 1]);
        assert_eq!(Oid::of(&[1, 3, 9999, 1, 5, 9]).content(), [0x2b, 0xce, 0x0f, 1, 5, 9]);
        assert_eq!(PCI.to_string(), "1.0.8571.2.1");
    }

    #[test]
    fn the_example_of_x690_is_read() {
        // X.690 section 8.19.5: {2 100 3}.
        let oid = Oid::from_content(&[0x81, 0x34, 0x03]).unwrap();
        assert_eq!(oid.arcs().collect::<Vec<_>>(), [2, 100, 3]);
    }

    #[test]
    fn what_is_no_object_identifier_is_refused() {
        assert_eq!(Oid::from_content(&[]), Err(BadOid::Empty));
        assert_eq!(Oid::from_content(&[0x28, 0x82]), Err(BadOid::Arc));
        assert_eq!(Oid::from_content(&[0x28, 0x80, 0x01]), Err(BadOid::Arc));
        assert_eq!(Oid::from_content(&[0xff; 11]), Err(BadOid::Arc));
        assert_eq!(Oid::from_content(&[1; 40]), Err(BadOid::Long));
        assert_eq!(Oid::from_arcs(&[3, 1]), Err(BadOid::Root));
        assert_eq!(Oid::from_arcs(&[1, 40]), Err(BadOid::Root));
        assert_eq!("1.x".parse::<Oid>(), Err(BadOid::Text));
    }

    proptest! {
        #[test]
        fn arcs_octets_and_text_say_the_same(first in 0_u64..3, second in 0_u64..40, rest in proptest::collection::vec(any::<u64>(), 0..4)) {
            // Ten groups of seven bits are more than 64: from_content refuses what begins in the last of them.
            let rest: Vec<u64> = rest.iter().map(|arc| arc >> 1).collect();
            let arcs = [vec![first, second], rest].concat();
            let Ok(oid) = Oid::from_arcs(&arcs) else {
                prop_assert!(arcs.len() > 5, "only many long arcs do not fit");
                return Ok(());
            };
            prop_assert_eq!(oid.arcs().collect::<Vec<_>>(), arcs);
            prop_assert_eq!(Oid::from_content(oid.content()), Ok(oid));
            prop_assert_eq!(oid.to_string().parse(), Ok(oid));
        }

        #[test]
        fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..50)) {
            if let Ok(oid) = Oid::from_content(&octets) {
                prop_assert_eq!(oid.content(), &octets[..]);
                prop_assert!(oid.arcs().count() >= 2);
            }
        }
    }
}
