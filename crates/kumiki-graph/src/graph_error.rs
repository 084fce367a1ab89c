//! Why a graph cannot be built, in words.

/// Why a graph cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GraphError {
    /// No such node or device.
    #[error("there is no layer called `{0}`")]
    Unknown(String),
    /// Two layers of one name.
    #[error("there are two layers called `{0}`; names must differ")]
    Twice(String),
    /// More nodes, devices or access points than there are numbers of 32 bits.
    #[error("there are more layers, or more access points between them, than 2^32")]
    TooMany,
    /// Two plugs of a medium or device that cannot be joined.
    #[error("{one} cannot be joined to {other}: {why}")]
    Plugs {
        /// One of them.
        one: String,
        /// The other.
        other: String,
        /// Why not.
        why: String,
    },
    /// Two neighbours that do not fit.
    #[error("`{upper}` cannot stand on `{lower}`: it needs {needs}, and `{lower}` offers {offers}")]
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
    #[error("`{node}` stands on {found} layer(s); it needs {fewest} to {most}")]
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
    #[error("`{upper}` cannot stand on `{lower}`, because `{lower}` stands on `{upper}`")]
    Circle {
        /// The layer above.
        upper: String,
        /// The layer below.
        lower: String,
    },
    /// One of the layers says no.
    #[error("`{upper}` on `{lower}`: {why}")]
    Refused {
        /// The layer above.
        upper: String,
        /// The layer below.
        lower: String,
        /// In the layer's words.
        why: String,
    },
}
