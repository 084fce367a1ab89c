//! How rows are printed.

use core::fmt::Display;

use serde::Serialize;

/// Prints a line of JSON for each row, or the table of them.
///
/// # Errors
/// Says why a row cannot be written.
pub(crate) fn show<R: Serialize, T: Display>(
    rows: &[R],
    as_json: bool,
    table: impl FnOnce(&[R]) -> T,
) -> Result<(), String> {
    if !as_json {
        println!("{}", table(rows));
        return Ok(());
    }
    for row in rows {
        println!("{}", serde_json::to_string(row).map_err(|why| why.to_string())?);
    }
    Ok(())
}
