//! try
use std::collections::BTreeMap;
use kumiki_lab::experiment::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap();
    let mut text = std::fs::read_to_string(&file).unwrap();
    let mut profiles: BTreeMap<String, kumiki_lab::profile::Profile> = BTreeMap::new();
    profiles.insert("zero".into(), toml::from_str("title='zero'\nabout=''\n[transfer]\nsummed=true").unwrap());
    for e in std::fs::read_dir("profiles").unwrap() { let p=e.unwrap().path(); profiles.insert(p.file_stem().unwrap().to_string_lossy().into(), toml::from_str(&std::fs::read_to_string(&p).unwrap()).unwrap()); }
    let mut seed = 1; let mut verbose=false;
    for a in args { if a=="-v" {verbose=true; continue;} let (k,v)=a.split_once('=').unwrap(); if k=="seed" {seed=v.parse().unwrap();} text=text.replace(&format!("\"${{{k}}}\""), &if v.parse::<u32>().is_ok() || v=="true"||v=="false" {v.to_string()} else {format!("\"{v}\"")}); text=text.replace(&format!("${{{k}}}"), v); }
    let s: kumiki_lab::scenario::Scenario = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    let t=std::time::Instant::now();
    let e = Experiment::build(&s,&profiles,seed,Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let r=e.run();
    let m=r.measured;
    let gap = m.sessions.iter().map(|s| s.longest_gap.as_millis()).max();
    println!("{:.3} Mb/s jain {:?} cpu {:?} waits {} maxgap {:?}ms wrong {:?} aborted {} wall {:?}", m.goodput_mbps, m.jain.map(|j| (j*1000.0).round()/1000.0), m.cpu.iter().map(|(k,v)| format!("{k} {v:.3}")).collect::<Vec<_>>(), m.page_waits, gap, m.wrong, m.sessions.iter().filter(|s| s.aborted.is_some()).count(), t.elapsed());
    if verbose { for (k,c) in &m.counters { let c: Vec<_>=c.iter().filter(|(_,v)| **v>0).collect(); println!("  {k}: {c:?}"); } }
}
