//! The derives of `kumiki-settings`: a configuration says of each field once what it means and what it may be.
//!
//! | | |
//! |---|---|
//! | Specification | none: the attributes are below |
//! | Above | the configurations of protocols |
//! | Below | `Reader` and `Key` of `kumiki-settings`, which what is made here calls |
//! | Left out | ranges that no value has, which are found when something is read; generic configurations |
//! | Without the feature `reading` | only the two that take the same attributes and make nothing |
//!
//! # Settings
//!
//! Each field is a setting of its own name, and the first paragraph of its doc comment is the meaning, as users read
//! it. What it may be:
//!
//! | Type | `#[setting(...)]` | |
//! |---|---|---|
//! | `bool` | nothing | true or false |
//! | `Duration` | nothing; `positive`; `least = TIME` | any time; more than nothing; so much at least |
//! | `u8` to `u64`, `usize` | `1..=255` | a number |
//! | | `1..=65535, octets` | a size |
//! | `u64` | `1..=1_000_000, rate` | a rate in bits per second |
//! | `f64` | `share` | a part of a whole, from 0 to 1 |
//! | an enum | `word`; `words = TABLE` | one of the words of its `Word`; of a table of words and values |
//! | any | `text, expected = "..."` | text that `FromStr` takes; `text = FUNCTION` has it from a `fn(&str) -> Option<T>` |
//! | `Vec` | `list, expected = "..."` | a list of such texts |
//! | `Vec` | `pairs = FUNCTION, any = "<name>", expected = "..."` | a table of names and texts, from a `fn(&str, &str) -> Option<T>` |
//! | a configuration | `table`; `flatten` | a table of its settings; they stand beside ours |
//! | any | `with = FUNCTION` | what a `fn(&mut T, &Reader<'_>) -> Result<(), BuildError>` reads |
//! | any | `skip` | no setting |
//!
//! Beside these: `name = "..."`, where the setting has another name than the field; `within = "..."`, the table that it
//! stands in, together with the fields next to it that say the same; `unset = "..."`, what is done where an `Option`
//! (of any of these types) is `None`, or what is shown in the place of the default; `required`, of texts, and
//! `required = "..."`, of lists and of what has a range: it must be set. Above the struct
//! `#[settings(check = FUNCTION)]` names a `fn(&Config, &Reader<'_>) -> Result<(), BuildError>`, for what no single
//! setting shows.
//!
//! All that is documented with the implementation, so a doc comment need not repeat ranges and units. Links go into its
//! later paragraphs, for the first one is printed as it is.
//!
//! # Word
//!
//! An enum's variants as words: in lower case, with hyphens between the parts (`WhenFull` is "when-full"), or as
//! `#[word("...")]` says. `#[word(skip)]` leaves one out, as those with content must be.

//!
//! # Keys
//!
//! What serde reads says of each field what it is, for the book:
//! `#[key(is = "a time", default = "0 s", example = "\"5 s\"")]`. Names, and whether a key must be given, are those of
//! serde; the meaning is the first paragraph of the doc comment. `is` may be left out of switches and numbers.
//! `#[key(skip)]` leaves a field out, as those must be that take any name.

use proc_macro::TokenStream;

#[cfg(feature = "reading")]
mod field;
#[cfg(feature = "reading")]
mod keys;
#[cfg(feature = "reading")]
mod settings;
#[cfg(all(test, feature = "reading"))]
mod tests;
#[cfg(feature = "reading")]
mod word;

/// Makes `HasSettings` of a configuration: see [the attributes](crate#settings).
#[cfg(feature = "reading")]
#[proc_macro_derive(Settings, attributes(setting, settings))]
pub fn settings(input: TokenStream) -> TokenStream {
    settings::derive(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes `Word` of an enum: see [the words](crate#word).
#[cfg(feature = "reading")]
#[proc_macro_derive(Word, attributes(word))]
pub fn word(input: TokenStream) -> TokenStream {
    word::derive(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes `HasKeys` of what serde reads: see [the attributes](crate#keys).
#[cfg(feature = "reading")]
#[proc_macro_derive(Keys, attributes(key))]
pub fn keys(input: TokenStream) -> TokenStream {
    keys::derive(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Takes the attributes of [`Settings`](macro@Settings) and makes nothing, for a crate of whose features one says
/// whether its configurations are read.
#[proc_macro_derive(UnreadSettings, attributes(setting, settings))]
pub fn unread_settings(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// The same of [`Word`](macro@Word).
#[proc_macro_derive(UnreadWord, attributes(word))]
pub fn unread_word(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
