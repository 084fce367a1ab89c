//! The derives of configurations: those that make settings of them, or, where nobody reads any (without the feature
//! `settings`), those that make nothing.

#[cfg(not(feature = "settings"))]
pub(crate) use kumiki_settings::unread::{Settings, Word};
#[cfg(feature = "settings")]
pub(crate) use kumiki_settings::{Settings, Word};
