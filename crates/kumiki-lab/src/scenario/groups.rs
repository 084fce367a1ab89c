//! Groups: a host, a switch or a link with `count = N` stands for N of them.
//!
//! They are called by the name of the group and their number, from 0: `[host.s]` with `count = 3` makes `s0`, `s1` and
//! `s2`, and `${i}` within it is that number. What is written under a member's own name (`[host.s1]`) is put in the
//! place of what the group says for it, key by key, except a `graph`, which is one value; `${i}` is its number there,
//! too. Loads name all members by a star: `s*.app`.

use super::expand::Expander;
use super::like::complete;
use kumiki_config::error::ConfigError;
use kumiki_config::refusal::as_whole;
use kumiki_config::tree::{Entry, Node, Value};

/// The key that makes a group.
pub(super) const COUNT: &str = "count";

/// The sections whose tables may be groups.
pub(super) const GROUPED: [&str; 3] = ["host", "switch", "link"];

/// The most members: each costs memory, at every point.
const MOST_MEMBERS: u32 = 4096;

/// `section` with all names replaced and the members in the place of the groups.
pub(super) fn expand(expander: &mut Expander<'_>, section: &str, node: &Node) -> Result<Node, ConfigError> {
    let (mut members, mut single) = (Vec::new(), Vec::new());
    for entry in node.entries() {
        match entry.node.child(COUNT) {
            Some(count) => of_group(expander, section, (entry, count, node), &mut members)?,
            None => single.push(entry),
        }
    }
    for entry in single {
        let groups = node.entries().iter().filter(|other| other.node.child(COUNT).is_some());
        expander.number = groups.filter_map(|group| number(&entry.key, &group.key)).next();
        let own = expander.at(&[section, &entry.key], &entry.node);
        expander.number = None;
        let own = Entry { key: entry.key.clone(), at: entry.at, node: own? };
        match members.iter_mut().find(|member| member.key == own.key) {
            Some(member) => {
                let of_group = core::mem::replace(member, own);
                complete(&mut member.node, &of_group.node, section == "host");
            }
            None => {
                if let Some(group) = lost(section, &own, node) {
                    return Err(not_a_member(expander, (section, &own), &group.key, &members));
                }
                members.push(own);
            }
        }
    }
    // Not a table at all: who reads it says so.
    let is_table = matches!(node.value, Value::Table(_));
    Ok(if is_table { Node { at: node.at, value: Value::Table(members) } } else { expander.top(section, node)? })
}

/// The group of which `own` is called like a member, where it cannot be anything by itself.
fn lost<'a>(section: &str, own: &Entry, node: &'a Node) -> Option<&'a Entry> {
    // What a host or a link must have; a switch must have nothing.
    let must = ["graph", "ends"].into_iter().zip(["host", "link"]).find(|(_, of)| *of == section)?.0;
    let mut groups = node.entries().iter().filter(|group| group.node.child(COUNT).is_some() && group.key != own.key);
    groups.find(|group| is_called_like(&own.key, &group.key)).filter(|_| own.node.child(must).is_none())
}

fn not_a_member(
    expander: &Expander<'_>,
    (section, own): (&str, &Entry),
    group: &str,
    members: &[Entry],
) -> ConfigError {
    let count = members.iter().filter(|member| is_member(&member.key, group)).count();
    let problem = format!("{} is no member of the group {group}", own.key);
    let fault = super::vary::fault_at(&expander.source, &[section, own.key.as_str()], own.at, problem);
    fault.expected(match count {
        0 | 1 => format!("{group}0"),
        more => format!("{group}0 to {group}{}", more - 1),
    })
}

fn of_group(
    expander: &mut Expander<'_>,
    section: &str,
    (entry, count, groups): (&Entry, &Node, &Node),
    members: &mut Vec<Entry>,
) -> Result<(), ConfigError> {
    let path = [section, entry.key.as_str(), COUNT];
    let written = expander.at(&path, count)?;
    let number = match written.value {
        Value::Integer(number) => u32::try_from(number).ok().filter(|number| (1..=MOST_MEMBERS).contains(number)),
        Value::Text(_) | Value::Float(_) | Value::Switch(_) | Value::List(_) | Value::Table(_) => None,
    };
    let Some(number) = number else {
        let fault = expander.fault(&written, "not a number of members");
        let fault = fault.expected(format!("a whole number from 1 to {MOST_MEMBERS}"));
        let meant = match written.value {
            Value::Float(count) => as_whole(count, &(1..=MOST_MEMBERS.into())),
            Value::Integer(_) | Value::Text(_) | Value::Switch(_) | Value::List(_) | Value::Table(_) => None,
        };
        return Err(match meant {
            Some(count) => fault.suggest(count),
            None => fault,
        });
    };
    let others = entry.node.entries().iter().filter(|own| own.key != COUNT).cloned();
    let one = Node { at: entry.node.at, value: Value::Table(others.collect()) };
    // A group of its own that has nothing to be one.
    let first = Entry { key: entry.key.clone(), at: entry.at, node: one.clone() };
    if let Some(group) = lost(section, &first, groups) {
        let problem = format!("{} is called like a member of the group {}, and a member is one", entry.key, group.key);
        return Err(expander.fault(count, problem).expected("no `count`, or another name"));
    }
    // Else s10 would be a member of s and of s1.
    let mut others = groups.entries().iter().filter(|it| it.node.child(COUNT).is_some() && it.key != entry.key);
    if let Some(other) = others.find(|other| is_called_like(&entry.key, &other.key)) {
        let problem = format!("members of the groups {} and {} could have one name", other.key, entry.key);
        return Err(expander
            .fault(count, problem)
            .expected("a name that is not another group's with digits behind it"));
    }
    for number in 0..number {
        let key = format!("{}{number}", entry.key);
        expander.number = Some(number);
        let node = expander.at(&[section, &entry.key], &one);
        expander.number = None;
        members.push(Entry { key, at: entry.at, node: node? });
    }
    Ok(())
}

/// Whether `name` is that of `group` with digits behind it.
fn is_called_like(name: &str, group: &str) -> bool {
    name.strip_prefix(group).is_some_and(|behind| behind.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether `name` is a member of a group in `section`.
pub(super) fn has_member(section: &Node, name: &str) -> bool {
    section.entries().iter().filter(|entry| entry.node.child(COUNT).is_some()).any(|entry| is_member(name, &entry.key))
}

/// Whether `name` is `group` and a number.
pub(super) fn is_member(name: &str, group: &str) -> bool {
    number(name, group).is_some()
}

/// How many hosts or switches `name` means, as `s*` or as the name of a group, and what its members are called.
pub(super) fn meant<'a>(known: impl Iterator<Item = &'a String>, name: &'a str) -> Option<(usize, &'a str)> {
    let group = name.strip_suffix('*').unwrap_or(name);
    let count = known.filter(|it| is_member(it, group)).count();
    (count > 0).then_some((count, group))
}

/// The number of the member `name` of `group`.
pub(super) fn number(name: &str, group: &str) -> Option<u32> {
    let digits = name.strip_prefix(group)?;
    let plain = digits == "0" || !digits.starts_with('0');
    (plain && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse().ok())?
}

#[cfg(test)]
pub(super) mod tests {
    use crate::scenario::{Choice, Document, Scenario};

    /// Three writers, a reader and a switch, all in groups but the reader.
    const GROUPS: &str = r#"
title = "Groups"
define.n = 3
host.s = { count = "${n}", graph = ["app", "tcp", "ip", "atm0"], ip.mtu = "${1000 + i * 100} B" }
host.s1 = { ip.ttl = 7 }
host.r = { like = "s", ip.mtu = "9180 B" }
switch.sw = { queue_cells = 100, ports = 4 }
link.in = { count = "${n}", ends = ["s${i}.atm0", "sw.${i}"], medium = "oc3c-atm" }
link.out = { ends = ["sw.3", "r.atm0"], medium = "oc3c-atm" }
load.bulk = { kind = "netperf", from = "s*.app", to = "r.app", message = "8 KiB" }
run.duration = "1 s"
"#;

    pub(crate) fn read(text: &str, set: &[&str]) -> Result<Scenario, String> {
        let document = Document::parse("x", "x.toml", text).map_err(|fault| fault.to_string())?;
        let set = set.iter().map(|&text| text.to_owned()).collect();
        let points = document.points(&Choice { set, quick: false, runs: None });
        let point = points.map_err(|fault| fault.to_string())?.remove(0);
        Ok(Scenario::clone(&point.scenario))
    }

    #[test]
    fn a_group_is_so_many_that_differ_by_their_number() {
        let scenario = read(GROUPS, &[]).unwrap();
        let hosts: Vec<&String> = scenario.host.keys().collect();
        assert_eq!(hosts, ["r", "s0", "s1", "s2"]);
        let mtu = |host: &str| scenario.host[host].settings["ip"]["mtu"].as_str().unwrap();
        assert_eq!(["s0", "s1", "s2", "r"].map(mtu), ["1000 B", "1100 B", "1200 B", "9180 B"]);
        assert_eq!(scenario.link["in2"].ends, ["s2.atm0", "sw.2"]);
        assert_eq!(scenario.load["bulk"].from.0, ["s0.app", "s1.app", "s2.app"]);
    }

    #[test]
    fn a_member_has_what_is_written_under_its_own_name_or_set() {
        let ttl = |scenario: &Scenario, host: &str| scenario.host[host].settings["ip"].get("ttl").cloned();
        let scenario = read(GROUPS, &[]).unwrap();
        assert_eq!((ttl(&scenario, "s1"), ttl(&scenario, "s2")), (Some(7.into()), None));
        let scenario =
            read(GROUPS, &["host.s2.ip.ttl=9", "n=4", "switch.sw.ports=6", "link.out.ends=['sw.5', 'r.atm0']"])
                .unwrap();
        assert_eq!((ttl(&scenario, "s2"), ttl(&scenario, "s3"), ttl(&scenario, "r")), (Some(9.into()), None, None));
        assert_eq!(scenario.host.len(), 5);
    }

    #[test]
    fn what_cannot_be_a_group_is_refused_where_it_is_written() {
        for (from, to, words) in [
            (
                "define.n = 3",
                "define.n = 0",
                "x.toml:4: host.s.count = 0: not a number of members; expected a whole number from 1 to 4096",
            ),
            ("define.n = 3", "define.n = 99999", "a whole number from 1 to 4096"),
            (
                "define.n = 3",
                "define.n = 3.0",
                "x.toml:4: host.s.count = 3.0: not a number of members; did you mean 3? (expected a whole number from 1 to 4096)",
            ),
            (
                "define.n = 3",
                "define.n = 0.0",
                "x.toml:4: host.s.count = 0.0: not a number of members; expected a whole number from 1 to 4096",
            ),
            ("count = \"${n}\", graph", "count = \"many\", graph", "host.s.count = \"many\": not a number of members"),
            ("host.r = {", "host.r = { count = 2,", "\"r\" is 2 of them, and a line has two ends"),
            (
                "like = \"s\", ip.mtu = \"9180 B\"",
                "like = \"s\"",
                "host.r.ip.mtu = \"${1000 + i * 100} B\": unknown name ${i}; expected `count`",
            ),
            ("define.n = 3", "define.n = 3\ndefine.i = 4", "${i} is the number within a group"),
            ("ports = 4", "ports = \"${i}\"", "unknown name ${i}; expected `count` in the same host, switch or link"),
            ("s*.app", "t*.app", "load.bulk.from = \"t*.app\": no host is called \"t\" and a number"),
            ("${1000 + i * 100} B", "${1000 + mtu} B", "unknown name ${mtu}"),
            (
                "${1000 + i * 100} B",
                "${(n + i) * 100} B",
                "brackets in the place of a name: (n; expected products before",
            ),
            (
                "${1000 + i * 100} B",
                "${n / i} B",
                "as n is 3 and i is 0: it is divided by 0; expected a divisor above 0",
            ),
            ("${1000 + i * 100} B", "${n + n * 1 ms}", "cannot be worked out, as n is 3: these do not go together"),
            (
                "${1000 + i * 100} B",
                "${i - 1} B",
                "x.toml:4: host.s.ip.mtu = \"${i - 1} B\": ${i - 1} cannot be worked out, as i is 0: it is below 0; expected a result of 0 or more",
            ),
        ] {
            assert!(GROUPS.contains(from), "{from}");
            let found = read(&GROUPS.replace(from, to), &[]).unwrap_err();
            assert!(found.contains(words), "{found}");
        }
        for own in ["host.s1 = { count = 1, like = \"r\",", "host.s10 = { count = 1, like = \"r\","] {
            let found = read(&GROUPS.replace("host.s1 = {", own), &[]).unwrap_err();
            assert!(found.contains("could have one name; expected a name that is not another group's"), "{found}");
        }
        let found = read(GROUPS, &["host.s9.ip.ttl=9"]).unwrap_err();
        let wanted = "--set host.s9.ip.ttl=9 (x.toml): host.s9: s9 is no member of the group s; expected s0 to s2";
        assert_eq!(found, wanted);
        for (own, words) in [
            ("host.s01 = { ip.ttl = 7 }", "host.s01: s01 is no member of the group s; expected s0 to s2"),
            ("host.s5 = { ip.ttl = 7 }", "host.s5: s5 is no member of the group s; expected s0 to s2"),
            ("link.in7 = { medium = \"oc3c\" }", "link.in7: in7 is no member of the group in; expected in0 to in2"),
            (
                "host.s1 = { count = 2 }",
                "s1 is called like a member of the group s, and a member is one; expected no `count`",
            ),
        ] {
            let found = read(&GROUPS.replace("host.s1 = { ip.ttl = 7 }", own), &[]).unwrap_err();
            assert!(found.contains(words), "{found}");
        }
        let found = read(GROUPS, &["host.q0.ip.ttl=9"]).unwrap_err();
        assert!(found.contains("there is no host \"q0\""), "{found}");
    }
}
