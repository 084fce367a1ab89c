//! Tests of tokio's, so that each runs on a host of a network.

/// `text` with each test on a host, and without those called as in `skipped`.
///
/// It relies on rustfmt: a function ends at the first line that is its indentation and a brace.
pub(super) fn on_a_host(text: &str, skipped: &[&str]) -> String {
    let mut out = Vec::new();
    let mut lines = text.lines();
    // Attributes of the next function, as far as one of them has said that it is a test.
    let mut attributes: Option<Vec<String>> = None;
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let indent = &line[..line.len() - trimmed.len()];
        if trimmed == "#[test]" || trimmed.starts_with("#[tokio::test") {
            attributes.get_or_insert_default().push(format!("{indent}#[test]"));
            continue;
        }
        let Some(mut before) = attributes.take() else {
            out.push(line.to_owned());
            continue;
        };
        let (is_async, rest) = match (trimmed.strip_prefix("async fn "), trimmed.strip_prefix("fn ")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => {
                before.push(line.to_owned());
                attributes = Some(before);
                continue;
            }
        };
        let end = format!("{indent}}}");
        let mut body: Vec<&str> = lines.by_ref().take_while(|it| *it != end).collect();
        let name = rest.split('(').next().unwrap_or_default();
        if skipped.contains(&name) {
            // What stands before it is about it.
            while out.last().is_some_and(|it: &String| it.trim_start().starts_with("///")) {
                out.pop();
            }
            continue;
        }
        out.append(&mut before);
        let result = rest.split_once("->").map_or("()", |(_, it)| it.trim_end_matches('{').trim());
        // A name of its own for what it gives: `?` in it asks for one.
        let begin = if is_async { "async fn __test()" } else { "fn __test()" };
        let call = if is_async { "__test()" } else { "async { __test() }" };
        out.push(format!("{indent}fn {name}() -> {result} {{"));
        out.push(format!("{indent}{begin} -> {result} {{"));
        out.extend(body.drain(..).map(str::to_owned));
        out.push(end.clone());
        out.push(format!("{indent}tokio::on_a_host({call})"));
        out.push(end);
    }
    out.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_on_a_host_and_one_to_be_skipped_is_gone() {
        let text = "\
use a;
#[tokio::test]
#[cfg(b)]
async fn one() -> Result<()> {
    c().await?;
}

/// Of two.
#[test]
fn two() {
    d();
}
fn three() {
}
";
        let right = "\
use a;
#[test]
#[cfg(b)]
fn one() -> Result<()> {
async fn __test() -> Result<()> {
    c().await?;
}
tokio::on_a_host(__test())
}

fn three() {
}
";
        assert_eq!(on_a_host(text, &["two"]), right);
    }
}
