//! Headers whose fields are numbers of whole octets, one behind the other.
//!
//! | | |
//! |---|---|
//! | Specification | none of its own: the module of each header names it. Numbers are in network order (RFC 791, appendix B) |
//! | Left out | fields of single bits, and those whose number or length depends on others: their headers read and write them by themselves |

use crate::Malformed;

/// A field of a header, for whoever shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The standard's name; empty for a sum, which whoever checks it shows.
    pub name: &'static str,
    /// Octets on the wire.
    pub len: usize,
    /// What it says.
    pub value: u64,
    /// Whether people read it in hexadecimal.
    pub hex: bool,
}

/// The first `N` of `octets`, which is then what follows them.
pub(crate) fn take<const N: usize>(octets: &mut &[u8], short: Malformed) -> Result<[u8; N], Malformed> {
    let (first, rest) = octets.split_first_chunk().ok_or(short)?;
    *octets = rest;
    Ok(*first)
}

/// One header: the protocol and the octets, then the fields in the order of the wire, each with the name that it is
/// shown by. `read` takes every value; what is refused is the business of `parse`.
macro_rules! layout {
    (
        $protocol:literal, $len:ident;
        $(#[$doc:meta])*
        pub struct $header:ident {
            $($(#[$field_doc:meta])* pub $field:ident: $number:ident $(= $name:literal)? $(, $hex:ident)?;)*
        }
    ) => {
        $(#[$doc])*
        pub struct $header {
            $($(#[$field_doc])* pub $field: $number,)*
        }

        impl $header {
            fn read(mut front: &[u8]) -> Result<Self, $crate::Malformed> {
                let short = $crate::Malformed::Short { protocol: $protocol, need: $len, have: front.len() };
                Ok(Self { $($field: $number::from_be_bytes($crate::layout::take(&mut front, short)?),)* })
            }

            /// Its fields, in the order of the wire.
            pub fn fields(&self) -> impl Iterator<Item = $crate::Field> + use<> {
                [$($crate::Field {
                    name: concat!($($name)?),
                    len: size_of::<$number>(),
                    value: self.$field.into(),
                    hex: !concat!($(stringify!($hex))?).is_empty(),
                }),*].into_iter()
            }

            /// Octets that `emit` writes: always as many.
            #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
            #[must_use]
            pub const fn len(&self) -> usize {
                const { assert!($len == 0 $(+ size_of::<$number>())*, "the fields are not as long as the header") };
                $len
            }

            /// Writes [`len`](Self::len) octets, each field as it stands, sums too.
            pub fn emit(&self, mut out: &mut [u8]) {
                debug_assert_eq!(out.len(), self.len());
                self.put(&mut out);
            }

            /// Writes the octets at the front of `out`, which is then what follows them.
            pub(crate) fn put(&self, out: &mut &mut [u8]) {
                $($crate::put(out, self.$field.to_be_bytes());)*
            }
        }
    };
}

pub(crate) use layout;
