//! Why a graph cannot be built, in words.

use core::fmt;

/// Why a graph cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GraphError {
    /// No such node or device.
    Unknown(String),
    /// Two layers of one name.
    Twice(String),
    /// More nodes, devices or access points than there are numbers of 32 bits.
    TooMany,
    /// Two plugs of a medium or device that cannot be joined.
    Plugs {
        /// One of them.
        one: String,
        /// The other.
        other: String,
        /// Why not.
        why: String,
    },
    /// Two neighbours that do not fit.
    Service {
        /// The layer above.
        upper: String,
        /// The layer below.
        lower: String,
        /// What the upper layer can stand on.
        needs: String,
        /// What the lower layer offers.
        offers: String,
    },
    /// Too few or too many layers below.
    Below {
        /// The layer.
        node: String,
        /// How many are there.
        found: usize,
        /// The fewest.
        fewest: u16,
        /// The most.
        most: u16,
    },
    /// A layer that would stand on itself.
    Circle {
        /// The layer above.
        upper: String,
        /// The layer below.
        lower: String,
    },
    /// One of the layers says no.
    Refused {
        /// The layer above.
        upper: String,
        /// The layer below.
        lower: String,
        /// In the layer's words.
        why: String,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "there is no layer called `{name}`"),
            Self::Twice(name) => write!(f, "there are two layers called `{name}`; names must differ"),
            Self::TooMany => f.write_str("there are more layers, or more access points between them, than 2^32"),
            Self::Plugs { one, other, why } => write!(f, "{one} cannot be joined to {other}: {why}"),
            Self::Service { upper, lower, needs, offers } => {
                write!(f, "`{upper}` cannot stand on `{lower}`: it needs {needs}, and `{lower}` offers {offers}")
            }
            Self::Below { node, found, fewest, most } => {
                write!(f, "`{node}` stands on {found} layer(s); it needs {fewest} to {most}")
            }
            Self::Circle { upper, lower } => {
                write!(f, "`{upper}` cannot stand on `{lower}`, because `{lower}` stands on `{upper}`")
            }
            Self::Refused { upper, lower, why } => write!(f, "`{upper}` on `{lower}`: {why}"),
        }
    }
}

impl core::error::Error for GraphError {}
