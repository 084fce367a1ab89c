//! tshark, which is neither side's, on what was captured.

use std::process::{Command, Output};

use crate::host::Said;

/// What a case says where tshark is absent.
pub(crate) const ABSENT: &str = "not looked at by tshark, which is absent";

/// What tshark makes of the capture at `path`; `None` where it is absent and `KUMIKI_REQUIRE_TSHARK` is not set.
pub(crate) fn tshark(path: &str, arguments: &[&str]) -> Said<Option<Output>> {
    let output = Command::new("tshark").args(["-r", path]).args(arguments).output();
    match output {
        Ok(output) => Ok(Some(output)),
        // There is none, or none that this user may start.
        Err(_) if std::env::var_os("KUMIKI_REQUIRE_TSHARK").is_none() => Ok(None),
        Err(why) => Err(format!("tshark: {why}")),
    }
}

/// The same, each line of text apart.
pub(crate) fn lines(path: &str, arguments: &[&str]) -> Said<Option<Vec<String>>> {
    let output = tshark(path, arguments)?;
    Ok(output.map(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(str::to_owned).collect()
    }))
}
