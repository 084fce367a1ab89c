//! Passwords, from wherever nobody else sees them: a file, the environment or the terminal. Never from an argument.

use std::io::{ErrorKind, IsTerminal as _};
use std::path::Path;

use kumiki_filetransfer::osi::Password;
use kumiki_live::{private, secret};

use super::work::INTERRUPTED;
use crate::commands::{Stop, shown, unreadable};

/// The first line of a file.
fn of_file(path: &Path) -> Result<String, Stop> {
    let text = private::read(path).map_err(|why| unreadable("--password-file", path, &why))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The password of `user`: of the file, else of this variable of the environment, else of the terminal where there is
/// one. Nobody is asked where there is no user.
pub(crate) fn of(variable: &str, user: Option<&str>, file: Option<&Path>) -> Result<Option<Password>, Stop> {
    if let Some(path) = file {
        return Ok(Some(of_file(path)?.as_str().into()));
    }
    if let Some(text) = std::env::var_os(variable) {
        let Some(text) = text.to_str() else {
            return Err(Stop::Input(format!("{variable} is no UTF-8")));
        };
        return Ok(Some(text.into()));
    }
    let Some(user) = user else {
        return Ok(None);
    };
    if !std::io::stdin().is_terminal() {
        // None would be told as a wrong one, which it is not.
        return Err(Stop::Input(format!(
            "there is no password of {user}, and no terminal to ask at: it can come from --password-file FILE (an empty one, if there is none) or {variable}"
        )));
    }
    prompt(&format!("Password of {}: ", shown(user))).map(|text| Some(text.as_str().into()))
}

/// Asks at the terminal, without showing it.
pub(crate) fn prompt(question: &str) -> Result<String, Stop> {
    secret(question).map_err(|why| {
        if why.kind() == ErrorKind::Interrupted {
            return Stop::Ended { status: INTERRUPTED, why: "given up".to_owned() };
        }
        Stop::Input(format!("no password could be read: {why}"))
    })
}

/// A new password: twice from the terminal, or a line of standard input.
pub(crate) fn new(user: &str) -> Result<String, Stop> {
    let password = typed(user)?;
    if password.is_empty() {
        return Err(Stop::Input(
            "there is no password: with an empty one everybody who knows the name would be let in".to_owned(),
        ));
    }
    Ok(password)
}

fn typed(user: &str) -> Result<String, Stop> {
    if std::io::stdin().is_terminal() {
        let first = prompt(&format!("New password of {}: ", shown(user)))?;
        if first != prompt("Again: ")? {
            return Err(Stop::Input("the two are not the same".to_owned()));
        }
        return Ok(first);
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|why| Stop::Input(format!("standard input: {why}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
