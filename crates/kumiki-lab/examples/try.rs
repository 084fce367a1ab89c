//! try
use kumiki_lab::experiment::*;
use kumiki_lab::scenario::{Choice, Document};
use std::collections::BTreeMap;
fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap();
    let mut set = vec![];
    let mut verbose = false;
    let mut seed = 1;
    let mut profile_over: Vec<(String, String)> = vec![];
    for a in args {
        if a == "-v" {
            verbose = true;
        } else if let Some(s) = a.strip_prefix("seed=") {
            seed = s.parse().unwrap()
        } else if let Some(s) = a.strip_prefix("p:") {
            let (k, v) = s.split_once('=').unwrap();
            profile_over.push((k.into(), v.into()));
        } else {
            set.push(a)
        }
    }
    let doc = Document::load(std::path::Path::new(&file)).unwrap_or_else(|e| panic!("{e}"));
    let points = doc
        .points(&Choice { set, quick: false })
        .unwrap_or_else(|e| {
            eprintln!("{e}");
            std::process::exit(2)
        });
    for p in points {
        let mut profiles = BTreeMap::new();
        for h in p.scenario.host.values() {
            let n = h.profile.clone().unwrap_or("zero".into());
            let prof = if std::path::Path::new(&format!("profiles/{n}.toml")).exists() {
                let mut t = std::fs::read_to_string(format!("profiles/{n}.toml")).unwrap();
                for (k, v) in &profile_over {
                    assert!(t.contains(&format!("@{k}@")) || true);
                    t = t.replace(k.as_str(), v);
                }
                kumiki_lab::profile::parse_text(&n, &t)
            } else {
                kumiki_lab::profile::load(&n)
            };
            profiles.insert(n, prof.unwrap_or_else(|e| panic!("{e}")));
        }
        let t = std::time::Instant::now();
        let e = Experiment::build(&p.scenario, &profiles, seed, &Options::default())
            .unwrap_or_else(|e| {
                eprintln!("{}", p.locate(e));
                std::process::exit(2)
            });
        let m = e.run().measured;
        let gap = m.sessions.iter().map(|s| s.longest_gap.as_millis()).max();
        println!(
            "{:?} {:.3} Mb/s jain {:?} cpu {:?} waits {} gap {:?}ms wrong {:?} aborted {} wall {:?}",
            p.varied
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect::<Vec<_>>()
                .join(" "),
            m.goodput_mbps,
            m.jain.map(|j| (j * 1000.0).round() / 1000.0),
            m.cpu
                .iter()
                .map(|(k, v)| format!("{k} {v:.3}"))
                .collect::<Vec<_>>(),
            m.page_waits,
            gap,
            m.wrong,
            m.sessions.iter().filter(|s| s.aborted.is_some()).count(),
            t.elapsed()
        );
        if verbose {
            for (k, c) in &m.counters {
                let c: Vec<_> = c.iter().filter(|(_, v)| **v > 0).collect();
                println!("  {k}: {c:?}");
            }
        }
    }
}
