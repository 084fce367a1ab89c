//! A filestore of real files: what is below one directory, and nothing else.
//!
//! | | |
//! |---|---|
//! | Specification | [`Filestore`](kumiki_files::filestore::Filestore); openat2(2), rename(2) |
//! | Above | [`Guard`](kumiki_files::filestore::Guard) |
//! | Below | Linux |
//! | Left out | other systems; document types and access control (they would need attributes of their own beside the files); what others write below the root is not counted in the quota until the next start |
//!
//! **Nothing leads out.** Names have neither `/` nor `..` in a component. Directories are opened from the root's
//! descriptor, with `RESOLVE_BENEATH`, and without following links, or by each component with `O_NOFOLLOW` where the
//! kernel has no openat2; the last component is never followed. So a directory that is swapped for a link at any moment
//! leads nowhere. Hard links are files.
//!
//! **Atomic.** What is written goes to a file of its own in the same directory, is synchronised, and is then renamed.
//! Owner, group and permissions are those of the file that it takes the place of, as far as the system lets them be
//! given.
//!
//! **Quota.** What is below the root is counted at the start, and from then on what is written and removed here.
//! Unfinished files count too.
//!
//! **After a crash.** Unfinished files (`.kumiki-PROCESS-NUMBER`; nothing that begins with `.kumiki-` is shown to
//! anybody) are locked by who writes them, and removed at a start where nobody does. So are files that were made for
//! them and are empty, which have the sticky bit until something is put in their place or they are to stay as they are.

#[cfg(test)]
mod crashes;
mod directory;
pub mod disk;
mod password;
mod quota;
#[cfg(test)]
mod tests;

pub use directory::{Directory, open_root, try_root};
pub use password::{BadPasswords, Passwords, hash};
pub use quota::Quota;
