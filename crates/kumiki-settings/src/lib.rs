//! Settings that are data: read into configurations, listed, and told what is wrong with them.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Above | configurations, that say of their fields what these may be; front ends, that read their own notation into [`Settings`](struct@Settings) |
//! | Below | times; nodes of a graph, which are made by the names of their kinds |
//! | Left out | notations of quantities; which kinds of nodes there are: each family lists its own |
//! | Without the feature `reading` | [`unread`] alone: who embeds protocols and reads no settings need not build all this |
//!
//! A configuration has a [`Default`], or several, and `#[derive(Settings)]`: a field's doc comment is what the setting
//! means, its type and `#[setting(...)]` are what it may be, and its value is the default ([all
//! attributes](kumiki_settings_derive#settings)). What no attribute says is a function that asks a [`Reader`], by
//! `#[setting(with = ...)]` or `#[settings(check = ...)]`.
//!
//! ```
//! use kumiki_settings::{Duration, HasSettings, Settings, Value, Word, set, settings_of};
//!
//! /// What is done with a cup that is empty.
//! #[derive(Clone, Copy, PartialEq, Word)]
//! enum Empty {
//!     Refill,
//!     WashUp,
//! }
//!
//! #[derive(Settings)]
//! struct Tea {
//!     /// How long it steeps.
//!     #[setting(positive)]
//!     steep: Duration,
//!     /// What goes into the pot.
//!     #[setting(100..=5000, octets)]
//!     water: u32,
//!     /// Lumps of sugar.
//!     #[setting(0..=3, unset = "as the guest likes")]
//!     sugar: Option<u8>,
//!     /// What is done with an empty cup.
//!     #[setting(word)]
//!     empty: Empty,
//! }
//!
//! let mut tea = Tea { steep: Duration::from_secs(180), water: 1024, sugar: None, empty: Empty::Refill };
//! let listed = settings_of(&mut tea);
//! assert_eq!(listed[1].to_string(), "`water`: a size from 100 B to 5000 B. What goes into the pot. Default: 1 KiB");
//!
//! set("tea", &mut tea, &Settings::new().with("sugar", 2).with("empty", "wash-up"))?;
//! assert!(tea.sugar == Some(2) && tea.empty == Empty::WashUp);
//! let why = set("tea", &mut tea, &Settings::new().with("suger", 2)).unwrap_err();
//! assert!(why.to_string().contains("`tea` has no setting `suger` (is `sugar` meant?)"));
//! let why = set("tea", &mut tea, &Settings::new().with("sugar", 4)).unwrap_err();
//! assert_eq!(why.to_string(), "`tea.sugar` is 4; it must be a number from 0 to 3");
//! # Ok::<_, kumiki_settings::BuildError>(())
//! ```

// What the derives make names this crate, also in this crate's tests.
extern crate self as kumiki_settings;

#[cfg(feature = "reading")]
mod error;
#[cfg(feature = "reading")]
mod form;
#[cfg(feature = "reading")]
mod kinds;
#[cfg(feature = "reading")]
mod reader;
#[cfg(feature = "reading")]
mod reading;
#[cfg(feature = "reading")]
mod slot;
#[cfg(all(test, feature = "reading"))]
mod tests;
#[cfg(feature = "reading")]
mod value;

/// The times of settings.
#[cfg(feature = "reading")]
pub use kumiki_graph::Duration;
/// Derives that take the attributes and make nothing: what a crate has in the place of the others where its own feature
/// says that nobody reads its configurations. Whoever else reads settings in the same program does not change that.
pub mod unread {
    pub use kumiki_settings_derive::{UnreadSettings as Settings, UnreadWord as Word};
}

/// The derives.
#[cfg(feature = "reading")]
pub use kumiki_settings_derive::{Keys, Settings, Word};
#[cfg(feature = "reading")]
pub use {
    error::{BuildError, Problem},
    form::{Setting, ValueFormat},
    kinds::{LowerLayers, NodeKind, NodeKinds, NodeMaker, NodeResult, checked, fits, node},
    reader::{Key, Reader},
    reading::{Described, HasKeys, HasSettings, SOME, Word, list, read, set, settings_of},
    slot::{Integer, Slot},
    value::{Settings, Value},
};
