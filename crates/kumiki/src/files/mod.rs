//! What commands for files have in common, whichever protocol brings them.

pub(crate) mod bar;
pub(crate) mod collect;
pub(crate) mod daemon;
pub(crate) mod password;
pub(crate) mod show;
pub(crate) mod work;
