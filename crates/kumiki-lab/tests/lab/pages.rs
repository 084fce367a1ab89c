//! The TOML that pages show is taken as it stands: whole scenarios by themselves, parts of one beside what they are a
//! part of.

#![expect(clippy::string_slice, reason = "a test: what fails stops it")]

use std::path::Path;

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Plan;
use kumiki_lab::scenario::{Choice, Document};

/// A line between two hosts.
const HOSTS: &str =
    "title = \"x\"\nhost.a.graph = [\"tcp\", \"ip\", \"l0\"]\nhost.b.like = \"a\"\nrun.duration = \"60 s\"\n";
const LINE: &str = "link.line = { ends = [\"a\", \"b\"], medium = \"point-to-point\", rate = \"10 Mb/s\" }\n";
const LOAD: &str = "load.bulk = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" }\n";

/// A router, with hosts at its sides.
const ROUTER: &str = "title = \"x\"\n\
    host.s = { count = 2, graph = [\"ip\", \"l0\"] }\n\
    host.b.graph = [\"ip\", \"l0\"]\n\
    host.router = { graph = { ip = [\"l0\", \"l1\", \"out\"] }, ip.forwarding = true }\n\
    link.side = { count = 2, ends = [\"s${i}\", \"router.l${i}\"], medium = \"point-to-point\", rate = \"10 Mb/s\" }\n\
    link.mid = { ends = [\"router.out\", \"b\"], medium = \"point-to-point\", rate = \"10 Mb/s\" }\n\
    run.duration = \"60 s\"\n\
    load.bulk = { kind = \"netperf\", from = \"s0\", to = \"b\", message = \"8 KiB\" }\n\
    load.cross = { kind = \"udp\", from = \"s1\", to = \"b\", message = \"1000 B\", rate = \"1 Mb/s\" }\n";

/// What stands beside the part of a scenario in which there is such a line.
fn beside(part: &str) -> String {
    let has = |line: &str| part.lines().any(|it| it.starts_with(line));
    if has("    { at = \"10 s\", rate") {
        format!("{}{LOAD}", HOSTS.replace("l0", "line0"))
    } else if has("queue = \"fq-codel\"") {
        format!("{HOSTS}{LOAD}")
    } else if has("event = [") || has("[[event]]") {
        ROUTER.to_owned()
    } else if has("[[claim]]") {
        let load = LOAD.replace(" }", ", socket_buffer = \"${buffer}\" }");
        format!("{HOSTS}{LINE}{load}vary.buffer = [\"4 KiB\", \"8 KiB\"]\n")
    } else if has("[host.s3]") {
        "title = \"x\"\n\
         host.router = { graph = { ip = [\"l0\", \"l1\", \"l2\", \"l3\", \"l4\"] }, ip.forwarding = true }\n\
         run.duration = \"1 s\"\n\
         load.bulk = { kind = \"netperf\", from = \"s0\", to = \"s3\", message = \"8 KiB\" }\n"
            .to_owned()
    } else if has("[load.one]") {
        let other = LINE.replace(".line", ".other").replace("\"a\"", "\"a.l1\"").replace("\"b\"", "\"b.l1\"");
        let line = LINE.replace("\"a\"", "\"a.l0\"").replace("\"b\"", "\"b.l0\"");
        format!("{}{line}{other}", HOSTS.replace("[\"tcp\", \"ip\", \"l0\"]", "{ ip = [\"l0\", \"l1\"] }"))
    } else if has("[vary]") {
        let hosts = format!("{HOSTS}run.seed = \"${{draw}}\"\nhost.a.tcp.congestion = \"${{congestion}}\"\n");
        let line = LINE.replace(" }", ", propagation = \"${rtt / 2}\" }");
        let load = LOAD.replace("netperf", "ttcp").replace("\"8 KiB\"", "\"${length}\", count = \"${count}\"");
        format!("{hosts}{line}{load}")
    } else {
        String::new()
    }
}

/// The blocks of TOML of a page, each with its line.
fn blocks(page: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((before, rest)) = page[at..].split_once("```toml\n") {
        let begin = at + before.len() + "```toml\n".len();
        let Some((block, _)) = rest.split_once("```") else {
            break;
        };
        found.push((page[..begin].lines().count(), block));
        at = begin + block.len();
    }
    found
}

#[test]
fn what_pages_show_is_taken() {
    let mut seen = 0;
    for page in ["README.md", "docs/scenarios.md", "docs/language.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(path).unwrap();
        for (line, block) in blocks(&text) {
            let is_whole = block.starts_with("title = ");
            let whole = if is_whole { block.to_owned() } else { format!("{}{block}", beside(block)) };
            let file = format!("{page}:{line}");
            let document = Document::parse("x", &file, &whole).unwrap_or_else(|why| panic!("{file}: {why}"));
            for quick in [false, true] {
                let choice = Choice { quick, ..Choice::default() };
                if let Err(why) = Plan::new(std::slice::from_ref(&document), &choice, &Laboratory::default()) {
                    panic!("{file}, quick {quick}: {why}\n{whole}");
                }
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} blocks");
}
