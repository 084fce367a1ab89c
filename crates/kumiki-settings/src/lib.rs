//! Settings that are data: read into configurations, listed, and told what is wrong with them.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | Above | configurations, that say of their fields what these may be; front ends, that read their own notation into [`Settings`](struct@Settings) |
//! | Below | times |
//! | Left out | notations of quantities; what a kind of node is, but for its name in an error |
//!
//! A configuration has a [`Default`], or several, and `#[derive(Settings)]`: a field's doc comment is what the setting means, its type and
//! `#[setting(...)]` are what it may be, and its value is the default ([all attributes](kumiki_settings_derive#settings)). What no
//! attribute says is a function that asks a [`Reader`], by `#[setting(with = ...)]` or `#[settings(check = ...)]`.
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

mod error;
mod form;
mod reader;
mod slot;
#[cfg(test)]
mod tests;
mod value;

pub use error::{BuildError, Problem};
pub use form::{Form, Setting};
/// The times of settings.
pub use kumiki_graph::Duration;
/// The derives.
pub use kumiki_settings_derive::{Keys, Settings, Word};
pub use reader::{Key, Reader};
pub use slot::{Integer, Slot};
pub use value::{Settings, Value};

/// The shortest time that is more than nothing.
pub const SOME: Duration = Duration::from_nanos(1);

/// A configuration that can be set. `#[derive(Settings)]` makes it.
pub trait HasSettings {
    /// Asks `reader` for every setting and puts what is set into its place.
    ///
    /// # Errors
    /// [`BuildError`] names the setting that is wrong, and what would be right.
    fn read(&mut self, reader: &Reader<'_>) -> Result<(), BuildError>;
}

/// The values of an enum as words, in the order in which they are shown. `#[derive(Word)]` makes it.
pub trait Word: Sized + 'static {
    /// Each word and what it stands for.
    const WORDS: &'static [(&'static str, Self)];
}

/// A table of a file that serde reads, whose keys are described. `#[derive(Keys)]` makes it.
pub trait HasKeys {
    /// Its keys, in the order of its fields.
    const KEYS: &'static [Described];
}

/// A key of a table, in words for a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// As it stands in the file.
    pub name: &'static str,
    /// What it may be, with its unit: "a time", "a number".
    pub is: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What is so where it is not there: a value as it would stand there, or words. Empty where it must be given.
    pub default: &'static str,
    /// A value, in TOML.
    pub example: &'static str,
    /// Whether the table is refused without it.
    pub must_be_given: bool,
    /// Whether the default is put into its place when the table is read.
    pub is_filled_in: bool,
}

/// Reads `settings` of what is called `kind` by `read`, which asks for all that there are: others are refused.
///
/// # Errors
/// [`BuildError`] names the setting that is wrong, and what would be right.
pub fn read<T>(
    kind: &str,
    settings: &Settings,
    read: impl FnOnce(&Reader<'_>) -> Result<T, BuildError>,
) -> Result<T, BuildError> {
    Reader::new(settings).whole(read).map_err(|error| error.of(kind))
}

/// All that `read` asks for. The defaults are those that go with `settings`, for some may depend on others.
pub fn list<T>(settings: &Settings, read: impl FnOnce(&Reader<'_>) -> Result<T, BuildError>) -> Vec<Setting> {
    let reader = Reader::listing(settings);
    // What must be set is not, but all settings have been asked for before that is noticed.
    let _ = read(&reader);
    reader.listed()
}

/// Puts `settings` of what is called `kind` into `config`. Where there is an error it may be half done.
///
/// # Errors
/// [`BuildError`] names the setting that is wrong, and what would be right.
pub fn set(kind: &str, config: &mut impl HasSettings, settings: &Settings) -> Result<(), BuildError> {
    read(kind, settings, |reader| config.read(reader))
}

/// All settings of `config`, with its values as the defaults.
pub fn settings_of(config: &mut impl HasSettings) -> Vec<Setting> {
    list(&Settings::new(), |reader| config.read(reader))
}
