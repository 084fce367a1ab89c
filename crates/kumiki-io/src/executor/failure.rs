//! Why an executor stops before it is told to.

use std::io;

use kumiki_graph::Standstill;

use super::RealId;

/// Why an executor cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A device of the machine is of no more use.
    #[error("{1}")]
    Device(RealId, io::Error),
    /// Layers of a graph answer each other for ever.
    #[error("graph `{0}`: {1}")]
    Graph(String, Standstill),
}

impl Failure {
    /// As an error of the system, for those who have no other.
    #[must_use]
    pub fn to_error(&self) -> io::Error {
        match self {
            Self::Device(_, why) => io::Error::new(why.kind(), why.to_string()),
            Self::Graph(..) => io::Error::other(self.to_string()),
        }
    }
}
