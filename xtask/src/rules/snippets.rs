//! Rust that the README shows is Rust that is compiled.
//!
//! | Rule | Says |
//! |---|---|
//! | snippet | the lines of a block of Rust in `README.md` stand, one behind the other, in one of `examples/*.rs` |
//!
//! Left out: how far lines are indented, for a block shows the inside of a function.

use crate::finding::Finding;
use crate::tree::Tree;

/// Reads the README's blocks of Rust.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    const README: &str = "README.md";
    let Some(readme) = tree.text(README) else {
        return Vec::new();
    };
    let examples: Vec<String> = tree
        .texts(".rs")
        .filter(|(file, _)| file.starts_with("examples/"))
        .map(|(_, text)| flat(text.lines()))
        .collect();
    let stands = |block: &str| examples.iter().any(|example| example.contains(block));
    let right = "the lines of an example, word for word";
    let finding = |line| Finding::new("snippet", README, line, "the block stands in no file of examples/", right);
    blocks(readme).filter(|(_, block)| !stands(block)).map(|(line, _)| finding(line)).collect()
}

/// Lines without what they are indented by, each with a line break before and behind it.
fn flat<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold("\n".to_owned(), |flat, line| flat + line.trim() + "\n")
}

/// Blocks of Rust, each with the number of the line above it.
fn blocks(text: &str) -> impl Iterator<Item = (usize, String)> {
    let starts = (1..).zip(text.lines()).filter(|(_, line)| line.trim() == "```rust");
    starts.map(|(number, _)| (number, flat(text.lines().skip(number).take_while(|line| line.trim() != "```"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(readme: &str) -> usize {
        let example = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
        check(&Tree::of(&[("README.md", readme), ("examples/a.rs", example)])).len()
    }

    #[test]
    fn lines_of_an_example_pass() {
        assert_eq!(found("```rust\nlet a = 1;\nlet b = 2;\n```\n```toml\nx = 1\n```\n"), 0);
    }

    #[test]
    fn lines_of_no_example_are_found() {
        assert_eq!(found("```rust\nlet a = 1;\nlet c = 2;\n```\n"), 1);
        assert_eq!(found("```rust\nlet a = 1;\n```\nmore\n```rust\nt b = 2;\n```\n"), 1);
    }
}
