//! What bounds a result, in a word.

use kumiki_inet::tcp::Limit;

/// What bound a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The line was full.
    Link,
    /// What held TCP back for the most time.
    Held(Limit),
    /// The window was full and nothing else, of what is no TCP.
    Window,
    /// A CPU had no time left.
    Host,
    /// Writers waited for pages.
    Pages,
    /// The connection was aborted: given up, or reset.
    Aborted,
    /// Datagrams or echoes were lost, and no line was full; or most of these left while their way was not there.
    Lost,
    /// A host at an end of it had no power.
    Power,
}

impl Bound {
    /// The word in result rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Held(limit) => limit.name(),
            Self::Window => "window",
            Self::Host => "host",
            Self::Pages => "pages",
            Self::Aborted => "aborted",
            Self::Lost => "loss",
            Self::Power => "power",
        }
    }
}
