//! Sets of named bits of a header.

/// One set: its bits in the order in which they are shown, each with its value on the wire.
macro_rules! flags {
    ($(#[$doc:meta])* $set:ident($bits:ty) { $($(#[$flag_doc:meta])* $flag:ident = $value:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $set($bits);

        impl $set {
            /// No bit.
            pub const NONE: Self = Self(0);
            $($(#[$flag_doc])* pub const $flag: Self = Self($value);)*

            const ALL: $bits = $($value)|*;
            const NAMES: &[(Self, &str)] = &[$((Self::$flag, stringify!($flag))),*];

            /// Those of `bits` that have a name; others are left out.
            #[must_use]
            pub const fn from_bits(bits: $bits) -> Self {
                Self(bits & Self::ALL)
            }

            /// The bits, as they are on the wire.
            #[must_use]
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// Whether all bits of `other` are set.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether any bit of `other` is set.
            #[must_use]
            pub const fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// These bits and those of `other`.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// These bits without those of `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl core::ops::BitOr for $set {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                self.with(other)
            }
        }

        impl core::ops::BitOrAssign for $set {
            fn bitor_assign(&mut self, other: Self) {
                *self = self.with(other);
            }
        }

        impl core::fmt::Display for $set {
            /// Their names with commas between; `-` for none.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                if self.0 == 0 {
                    return f.write_str("-");
                }
                let mut separator = "";
                for (flag, name) in Self::NAMES {
                    if self.contains(*flag) {
                        write!(f, "{separator}{name}")?;
                        separator = ",";
                    }
                }
                Ok(())
            }
        }

        impl core::fmt::Debug for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    };
}

pub(crate) use flags;
