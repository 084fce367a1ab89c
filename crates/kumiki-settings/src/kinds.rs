//! Nodes by the names of their kinds, made from settings.

use core::fmt::{self, Display};

use kumiki_graph::Protocol;

use crate::{BuildError, HasSettings, Reader, Setting, Settings, list, read};

/// Where a node stands, as far as its settings depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LowerLayers<'a> {
    /// The names of the layers below, in order.
    pub below: &'a [&'a str],
    /// The largest datagram that IP below sends in one piece, in octets, where that is known.
    pub mtu: Option<u32>,
}

/// A node, or which setting is wrong and what would be right.
pub type NodeResult = Result<Box<dyn Protocol>, BuildError>;

/// Makes a node of one kind from its settings.
pub type NodeMaker = fn(&Reader<'_>, LowerLayers<'_>) -> NodeResult;

/// A kind of nodes by its name, such as `tcp`, and what makes one.
pub type NodeKind = (&'static str, NodeMaker);

/// The kinds of nodes that a program knows: those of the families that it is built with, each of which lists its own.
#[derive(Clone, Copy)]
pub struct NodeKinds(&'static [&'static [NodeKind]]);

impl NodeKinds {
    /// Those of these families; no name is there twice.
    #[must_use]
    pub const fn new(families: &'static [&'static [NodeKind]]) -> Self {
        Self(families)
    }

    /// Their names, in order.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.0.iter().copied().flatten().map(|&(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    fn find(self, kind: &str) -> Option<NodeKind> {
        self.0.iter().copied().flatten().copied().find(|&(name, _)| name == kind)
    }

    /// Makes a node of `kind`.
    ///
    /// # Errors
    /// [`BuildError`] names the kind or setting that is wrong, and what would be right.
    pub fn build(self, kind: &str, settings: &Settings, place: LowerLayers<'_>) -> NodeResult {
        let Some((kind, make)) = self.find(kind) else {
            return Err(BuildError::unknown_kind(kind, self.names()));
        };
        read(kind, settings, |reader| make(reader, place))
    }

    /// All that a node of `kind` can be set to; nothing where there is no such kind. The defaults are those that go with
    /// `settings`, for TCP's depend on one of them.
    #[must_use]
    pub fn settings(self, kind: &str, settings: &Settings) -> Vec<Setting> {
        self.find(kind).map_or_else(Vec::new, |(_, make)| list(settings, |reader| make(reader, LowerLayers::default())))
    }
}

impl PartialEq for NodeKinds {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names()
    }
}

impl fmt::Debug for NodeKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeKinds").field(&self.names()).finish()
    }
}

/// Makes a node that takes every configuration.
///
/// # Errors
/// [`BuildError`] where a setting is wrong.
pub fn node<C: HasSettings, P: Protocol + 'static>(reader: &Reader<'_>, mut config: C, make: fn(C) -> P) -> NodeResult {
    config.read(reader)?;
    Ok(Box::new(make(config)))
}

/// Makes a node that may refuse its configuration.
///
/// # Errors
/// [`BuildError`] where a setting is wrong, or the node refuses.
pub fn checked<C: HasSettings, P: Protocol + 'static, E: Display>(
    reader: &Reader<'_>,
    mut config: C,
    make: fn(C) -> Result<P, E>,
) -> NodeResult {
    config.read(reader)?;
    fits(config, make)
}

/// The same of a configuration that has been read.
///
/// # Errors
/// [`BuildError`] where the node refuses.
pub fn fits<C, P: Protocol + 'static, E: Display>(config: C, make: fn(C) -> Result<P, E>) -> NodeResult {
    Ok(Box::new(make(config).map_err(|error| BuildError::refused(&error))?))
}
