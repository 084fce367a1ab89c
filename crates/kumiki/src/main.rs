//! The `kumiki` program.
fn main() {}
