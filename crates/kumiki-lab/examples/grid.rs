//! grid
use kumiki_lab::experiment::*;
use kumiki_lab::scenario::{Choice, Document};
use std::collections::BTreeMap;
fn main() {
    let text = std::fs::read_to_string("scenarios/paper5-fig2.toml").unwrap()
      .replace("tcp = { defaults = \"solaris23\", mss = \"9140 B\" }", "tcp = { defaults = \"solaris23\", mss = \"9140 B\", rounding=\"up\", send_granularity=\"0 B\", half_window=\"off\", low_water=\"2048 B\", window_update={segments=2,percent=50}, ack={every=2,count_small=false} }")
      .replace("warm_up = \"0.5 s\"","warm_up = \"0.3 s\"").replace("duration = \"1 s\"","duration = \"0.5 s\"");
    let doc = Document::parse("g", "g", &text).unwrap();
    let prof = kumiki_lab::profile::parse_text(
        "ss20",
        &std::fs::read_to_string("profiles/ss20.toml").unwrap(),
    )
    .unwrap();
    let mut profiles = BTreeMap::new();
    profiles.insert("ss20".to_string(), prof);
    let s = |k: &str, v: &str| format!("host.sender.tcp.{k}={v}");
    for r in ["exact", "up"] {
        for g in ["half"] {
            for h in ["off", "rfc", "always"] {
                for lw in ["1 B", "2048 B"] {
                    for (us, up) in [("2", "35"), ("2", "50"), ("2", "0")] {
                        for (ae, ac) in [("2", "false"), ("2", "true"), ("0", "false")] {
                            let mut line = String::new();
                            let mut bad = 0;
                            let mut ok = true;
                            for n in ["nagle", "never"] {
                                for b in ["4 KiB", "8 KiB"] {
                                    for m in ["1 KiB", "2 KiB", "4 KiB", "8 KiB", "16 KiB"] {
                                        let set = vec![
                                            s("rounding", r),
                                            s(
                                                "send_granularity",
                                                if b == "4 KiB" { "1024 B" } else { "2048 B" },
                                            ),
                                            s("half_window", h),
                                            s("low_water", lw),
                                            s("window_update.segments", us),
                                            s("window_update.percent", up),
                                            s("ack.every", ae),
                                            s("ack.count_small", ac),
                                            format!("nagle={n}"),
                                            format!("buffer={b}"),
                                            format!("message={m}"),
                                        ];
                                        let p = &doc
                                            .points(&Choice { set, quick: false })
                                            .unwrap_or_else(|e| panic!("{e}"))[0];
                                        let v = Experiment::build(
                                            &p.scenario,
                                            &profiles,
                                            1,
                                            Options::default(),
                                        )
                                        .unwrap_or_else(|e| panic!("{}", p.locate(e)))
                                        .run()
                                        .measured
                                        .goodput_mbps;
                                        let collapsed = v < 4.0;
                                        if m == "4 KiB" {
                                            if n == "nagle" && !collapsed {
                                                ok = false
                                            }
                                            if n == "never" && collapsed {
                                                ok = false
                                            }
                                        } else if collapsed {
                                            bad += 1
                                        }
                                        line += &format!("{v:.1} ");
                                    }
                                    line += "| ";
                                }
                                line += "|| ";
                            }
                            if ok {
                                println!(
                                    "bad{bad:02} round={r} gran={g} half={h} lw={lw} upd={us}/{up} ack={ae}/{ac}: {line}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
