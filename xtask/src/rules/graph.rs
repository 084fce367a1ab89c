//! The graph runs layers of which it knows nothing.
//!
//! | Rule | Says |
//! |---|---|
//! | graph | no name of a protocol stands in `kumiki-graph`, in code or comments, but in its tests |

use crate::finding::Finding;
use crate::rust::{is_test_file, without_tests};
use crate::tree::Tree;

const RULE: &str = "graph";
const FOLDER: &str = "crates/kumiki-graph/src/";

/// In lower case.
const PROTOCOLS: [&str; 42] = [
    "aal34", "aal5", "acse", "arp", "atm", "cotp", "cpcs", "dhcp", "ecn", "ethernet", "fddi", "ftam", "hdlc", "icmp",
    "icmpv6", "ip", "ip4", "ip6", "ipcp", "ipv4", "ipv6", "lapb", "lcp", "llc", "mapos", "mms", "osi", "ppp", "sdh",
    "snap", "sonet", "srcaddr", "tcp", "tp0", "tpkt", "udp", "vnet", "x121", "x25", "x32", "xot", "xtp",
];

/// Reads every Rust file of the graph.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts(".rs").filter(|(file, _)| file.starts_with(FOLDER) && !is_test_file(file)) {
        for (number, line) in (1..).zip(without_tests(text).lines()) {
            for word in words(line).filter(|word| PROTOCOLS.contains(&word.to_lowercase().as_str())) {
                let right = "give it to the family that owns the protocol: a Special, Parameters, a kind of address";
                findings.push(Finding::new(RULE, file, number, format!("\"{word}\""), right));
            }
        }
    }
    findings
}

/// The words of a line, and those that names are put together of: `EcnUse` is itself and two. A number behind a letter
/// and a point, as in `X.25`, belongs to it.
fn words(line: &str) -> impl Iterator<Item = String> {
    let line = line.replace("X.", "X");
    let runs: Vec<String> = line.split(|it: char| !it.is_ascii_alphanumeric()).map(str::to_owned).collect();
    runs.into_iter().flat_map(|run| {
        let begins = |at: usize| {
            let octets = run.as_bytes();
            let upper = |at: usize| octets.get(at).is_some_and(u8::is_ascii_uppercase);
            upper(at) && at > 0 && (!upper(at - 1) || octets.get(at + 1).is_some_and(u8::is_ascii_lowercase))
        };
        let mut cuts: Vec<usize> = (0..run.len()).filter(|&at| at == 0 || begins(at)).collect();
        cuts.push(run.len());
        let parts = cuts.windows(2).filter_map(|pair| run.get(*pair.first()?..*pair.last()?));
        let mut words: Vec<String> = parts.map(str::to_owned).collect();
        if words.len() > 1 {
            words.push(run);
        }
        words
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/kumiki-graph/src/a.rs", text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_protocol_is_found_in_code_and_comments() {
        assert_eq!(
            found("//! As TCP has it.\npub enum EcnUse { Off }\nfn of_ipv4() {}\n"),
            ["\"TCP\"", "\"Ecn\"", "\"ipv4\""]
        );
        assert_eq!(found("const TCP_NODELAY: u8 = 1;\nstruct XTPContext;\nfn a(ip: u8) {}\n").len(), 3);
    }

    #[test]
    fn so_it_is_as_people_write_it() {
        for text in [
            "//! IPv4.\n",
            "//! IPv6\n",
            "//! an ICMPv6 message\n",
            "//! X.25's calls\n",
            "struct X25;\n",
            "//! X.32\n",
            "// GET_SRCADDR\n",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn other_words_and_tests_are_not() {
        assert_eq!(found("//! A ship, a trip, a recipe of RFC 791.\nstruct Snapshot;\n"), [""; 0]);
        assert_eq!(found("//! A.\n#[cfg(test)]\nmod tests {\n    const TCP: u8 = 6;\n}\n"), [""; 0]);
        let tree = Tree::of(&[
            ("crates/kumiki-inet/src/a.rs", "//! TCP.\n"),
            ("crates/kumiki-graph/src/graph/tests/a.rs", "// TCP\n"),
        ]);
        assert!(check(&tree).is_empty());
    }
}
