//! One process, both ends.
