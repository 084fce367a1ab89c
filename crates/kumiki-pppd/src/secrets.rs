//! Files of names and secrets.

use kumiki_ppp::ppp_daemon::Secret;

/// Names and secrets, one pair on each line, with blanks between. Empty lines and those that begin with `#` say
/// nothing.
///
/// # Errors
/// The first line that has no secret.
pub fn secrets(text: &str) -> Result<Vec<Secret>, String> {
    let mut secrets = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, secret)) = line.split_once(char::is_whitespace) else {
            return Err(format!("line {number}: this has a name and no secret; expected both with a blank between"));
        };
        secrets.push(Secret { name: name.to_owned(), secret: secret.trim_start().to_owned() });
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_blanks_and_a_line_without_one_is_refused() {
        let read = secrets("# who\n\nkumiki wonder land\nguest  x\n").unwrap();
        let read: Vec<_> = read.iter().map(|it| (it.name.as_str(), it.secret.as_str())).collect();
        assert_eq!(read, [("kumiki", "wonder land"), ("guest", "x")]);
        assert!(secrets("a b\nguest\n").unwrap_err().starts_with("line 2: "));
    }
}
