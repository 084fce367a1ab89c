//! What people write, read so that a mistake is told with its place: TOML whose values know their lines, quantities with
//! units, settings in that notation, and the words for what a system refuses.
//!
//! | | |
//! |---|---|
//! | Specification | TOML 1.0, by the crate `toml`; the units of [`quantity`] |
//! | Above | scenarios, profiles, configurations of services, command lines |
//! | Below | [`kumiki_settings`], which knows what a setting may be |
//! | Left out | which keys there are: a front end says so by serde, and may know more of them ([`KnownKeys`](tree::KnownKeys)) |
//!
//! ```
//! use kumiki_config::tree::{Node, Source};
//!
//! let root = Node::parse("title = \"Tea\"\n[tea]\nsteep = 3\n")?;
//! let source = Source::new("tea.toml", &root);
//! let why = source.read::<String>(root.reach(&["tea".into(), "steep".into()]).1.unwrap(), &["tea", "steep"]);
//! // A number where a text is wanted: the message has the file, the line and the key.
//! assert!(why.is_err());
//! # Ok::<_, kumiki_config::ConfigError>(())
//! ```

pub mod error;
pub mod errors;
pub mod hints;
pub mod quantity;
pub mod read;
pub mod refusal;
pub mod settings;
pub mod shown;
pub mod tree;

pub use error::{ConfigError, ErrorPlace, nearest};
