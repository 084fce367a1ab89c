//! As much of Rust's syntax as the rules need: where comments and literals are, and where the tests of a file begin.
//!
//! Left out: everything else. A full parser would judge better and cost the check its few seconds.

/// `text` with comments and literals blanked, line by line the same length in lines.
pub(crate) fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let blank = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            '\'' => character(rest),
            'r' | 'b' | 'c' if !is_word(previous) => raw_string(rest),
            _ => 0,
        };
        if blank == 0 {
            out.push(c);
            previous = c;
            rest = rest.get(c.len_utf8()..).unwrap_or("");
        } else {
            let (literal, after) = rest.split_at_checked(blank).unwrap_or((rest, ""));
            out.extend(literal.chars().map(|c| if c == '\n' { c } else { ' ' }));
            previous = ' ';
            rest = after;
        }
    }
    out
}

/// Length of the (nested) block comment that `rest` starts with.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of the string literal that `rest` starts with.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of the raw string literal that `rest` starts with, or 0 where it is an ordinary word.
fn raw_string(rest: &str) -> usize {
    let body = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let Some(body) = body.strip_prefix('r') else {
        return 0;
    };
    let quoted = body.trim_start_matches('#');
    let hashes = body.len() - quoted.len();
    let Some(content) = quoted.strip_prefix('"') else {
        return 0;
    };
    let end = format!("\"{}", "#".repeat(hashes));
    match content.find(&end) {
        Some(at) => rest.len() - content.len() + at + end.len(),
        None => rest.len(),
    }
}

/// Length of the character literal that `rest` starts with, or 0 where it is a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1)
        }
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `line` holds `word` with no letter, digit or underscore on either side.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|s| s.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|s| s.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Whether everything in this file is test: `tests.rs`, `tests/...`, and a fuzz or benchmark target.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|folder| matches!(folder, "tests" | "fuzz" | "benches"))
}

/// The part of a file before its `#[cfg(test)] mod ... {`, which the house style puts last.
pub(crate) fn without_tests(text: &str) -> &str {
    let mut at = 0;
    let mut mark = None;
    for line in text.split_inclusive('\n') {
        match mark {
            None if line.trim_end() == "#[cfg(test)]" => mark = Some(at),
            Some(start) if line.starts_with("mod ") && line.trim_end().ends_with('{') => {
                return text.get(..start).unwrap_or(text);
            }
            // Further attributes between the mark and its module.
            Some(_) if line.starts_with(['#', ' ', ')']) => {}
            Some(_) => mark = None,
            None => {}
        }
        at += line.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_and_lines_stay() {
        let text = "a /* x /* y */ \n z */ b // unsafe\nc \"unsafe \\\" \n\" d r#\"un\"safe\"# e br\"x\" f";
        let code = code_only(text);
        assert_eq!(code.lines().count(), text.lines().count());
        assert_eq!(code.split_whitespace().collect::<String>(), "abcdef");
    }

    #[test]
    fn a_lifetime_is_not_a_character() {
        let code = code_only("fn f<'a>(x: &'a str) { ('\"', '\\'', b'\\n', unsafe_name) } r#type");
        assert!(code.contains("<'a>(x: &'a str)"), "{code}");
        assert!(code.contains("unsafe_name"), "{code}");
        assert!(code.contains("r#type"), "{code}");
        assert!(!code.contains('"'), "{code}");
    }

    #[test]
    fn a_word_is_not_part_of_a_longer_one() {
        assert!(has_word("x unsafe {", "unsafe"));
        assert!(!has_word("allow(unsafe_code)", "unsafe"));
    }

    #[test]
    fn tests_at_the_end_do_not_count() {
        let text = "fn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n}\n";
        assert_eq!(without_tests(text), "fn a() {}\n");
        let beside = "#[cfg(test)]\nmod tests;\nfn a() {}\n";
        assert_eq!(without_tests(beside), beside);
        let item = "#[cfg(test)]\nfn only_for_tests() {}\nmod inner {\n}\n";
        assert_eq!(without_tests(item), item);
    }
}
