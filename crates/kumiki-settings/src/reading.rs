//! What configurations and front ends share.

use kumiki_graph::Duration;

use crate::{BuildError, Reader, Setting, Settings};

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
