//! What is refused, and how that is told.

use super::*;

/// What is said about `name` with `set`.
fn said(name: &str, set: &str) -> String {
    let built = points(name, &[set]).and_then(|points| {
        let first = points.first().unwrap_or_else(|| panic!("{name} has no points"));
        build(first, 1).map(|_| ())
    });
    match built {
        Ok(()) => panic!("{name} with {set} was built"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn what_is_wrong_with_settings_is_said_with_its_place_and_what_would_be_right() {
    let cases = [
        ("oc48", "host.a.tcp.window_scalng=true", "unknown setting \"window_scalng\""),
        ("oc48", "host.a.tcp.window_scalng=true", "did you mean \"window_scaling\"?"),
        ("oc48", "host.a.tcp.receive_buffer=2 GiB", "expected a size from 1 B to 1 GiB"),
        ("oc48", "host.a.tcp.mss=0 B", "expected a size from 1 B to 65535 B"),
        ("oc48", "host.a.tcp.mss=70000 B", "expected a size from 1 B to 65535 B"),
        ("oc48", "host.a.tcp.mss=9141 B", "at most 9140 B with IP's mtu of 9180 B"),
        ("oc48", "host.a.tcp.mss=20 ms", "B"),
        ("oc48", "host.a.tcp.mss=1460", "this is 1460; expected a size from 1 B to 65535 B, with its unit"),
        ("oc48", "host.a.tcp.time_wait=5 MB", "host.a.tcp.time_wait"),
        ("oc48", "host.a.tcp.time_wait=1.5", "such as \"20 ms\""),
        ("oc48", "host.a.tcp.sack=yes", "expected true or false"),
        ("oc48", "host.a.tcp.defaults=bsd44", "did you mean \"bsd43\"?"),
        ("oc48", "host.a.tcp.ack={evry=2}", "host.a.tcp.ack.evry"),
        ("oc48", "host.a.ip.mtu=60 B", "host.a.ip.mtu = \"60 B\": this is 60 B; expected a size from 68 B to 65535 B"),
        ("oc48", "host.a.ip.address=10.0.0.1/33", "0 to 32"),
        ("oc48", "host.a.ip.neighbours={\"10.0.0.2\"=\"0.100\"}", "host.a.ip.neighbours.10.0.0.2"),
        ("oc48", "host.a.ip.routes={default=\"10.0.0.300\"}", "a router's IPv4 address"),
        ("oc48", "host.a.llc_snap={vc=7}", "this is 7; expected a circuit"),
        ("oc48", "host.a.prices.tcpp.push=1 us", "unknown node \"tcpp\""),
        ("oc48", "host.a.prices.tcp.shove=1 us", "unknown kind of work \"shove\""),
        ("oc48", "host.a.prices.tcp.push=1 MB", "a price such as \"46.1 ns\""),
        ("oc48", "host.a.atm0={interleve=true}", "did you mean \"interleave\"?"),
        ("oc48", "host.a.atm0={interleave=1}", "expected true or false"),
        ("oc48", "host.a.atm0={aal=\"4\"}", "one of 5, 3/4"),
        ("oc48", "host.a.atm0={aal=2}", "this is 2; expected 5 or \"3/4\""),
        ("oc48", "host.a.atm0={abr={nrm=4}}", "expected left out: it is for service = \"abr\""),
        (
            "oc48",
            "host.a.atm0={service=\"abr\", abr={rif=\"1/3\"}}",
            "expected a part from 1 to 1/32768, such as \"1/16\"",
        ),
        ("oc48", "host.a.atm0={service=\"abr\", abr={cdf=\"1/128\"}}", "expected 0, or a part from 1 to 1/64"),
        ("oc48", "host.a.atm0={service=\"abr\", abr={pcr_cps=10, mcr_cps=11}}", "expected no more than pcr_cps, 10"),
        ("oc48", "host.a.atm0={service=\"abr\", abr={pcr_cps=10, icr_cps=11}}", "from mcr_cps, 0, to pcr_cps, 10"),
        (
            "oc48",
            "host.a.atm0={service=\"abr\", abr={icr_cps=5651321}}",
            "host.a.atm0.abr.icr_cps = 5651321: more cells than there are slots on the line; expected no more than the line's 5651320",
        ),
        ("oc48", "host.a.atm0={service=\"abr\", abr={mcr_cps=6000000}}", "no more than the line's 5651320"),
        (
            "oc48",
            "host.b.atm0={service=\"abr\"}",
            "host.b.atm0.service = \"abr\": at the other end of a channel host.a.atm0.service is \"ubr\"; expected the same at both ends",
        ),
        ("oc48", "host.a.atm0={service=\"vbr\"}", "did you mean \"ubr\"? (one of ubr, abr)"),
        ("interleaved-vcs", "switch.exchange.ci_cells=4", "left out: it is for feedback = \"relative\""),
        ("interleaved-vcs", "switch.exchange.erica_target=90 %", "left out: it is for feedback = \"erica\""),
        ("paper2-media", "load.video.payload_type=72", "expected 0 to 127, but for 72 to 76"),
        ("paper2-media", "load.video.message=20 B", "expected 28 B to 65507 B"),
        ("paper2-media", "load.video.frame=1330 B", "of 1330 octets the last packet has 2"),
        ("paper2-media", "load.video.on=1 s", "rtp has no use for it"),
        ("lossy", "host.a.line0={interleave=true}", "no cells on the line"),
        ("oc48", "load.bulk.socket_buffer=2 GiB", "RFC 7323"),
        ("oc48", "load.bulk.message=0 B", "load.bulk.message"),
        ("oc48", "load.bulk.message=4 GiB", "4 GiB or more; expected at most 4294967295 B"),
        ("oc48", "load.bulk.rate=1 Mb/s", "it is for udp and rtp"),
        ("oc48", "load.bulk.playout=1 ms", "it is for rtp"),
        ("oc48", "load.bulk.kind=ftp", "one of netperf, ttcp, udp, rtp, ping, rpc, ftam, limit"),
        ("oc48", "load.bulk.to=[\"b.netperf\", \"b.netperf\"]", "is there twice"),
        ("oc48", "load.bulk.to=[]", "no node"),
        ("oc48", "load.bulk.to=a.netperf", "cannot read as well"),
        ("lossy", "run.warm_up=1 s", "no part left out"),
        ("oc48", "load.bulk.sessions=4000000000", "expected 1 to 16384"),
        ("interleaved-vcs", "switch.exchange.ports=1000000000000000", "expected 1 to 8192 ports"),
        ("udp-over-atm", "load.datagrams.message=4 B", "expected 16 B to 65507 B"),
        ("udp-over-atm", "load.datagrams.rate=0 b/s", "nothing would ever be sent"),
        (
            "oc48",
            "link.line.rate=1 Gb/s",
            "oc48c-atm has the rate of its name; expected no `rate`, or medium = \"point-to-point\"",
        ),
        ("lossy", "link.line.rate=0 b/s", "this is 0 b/s; expected a rate from 1 b/s to 1000 Tb/s"),
        ("lossy", "link.line.medium=oc3", "did you mean \"oc3c\"?"),
        ("lossy", "link.line.impair={reorder=0.1}", "beside `reorder`"),
        (
            "oc48",
            "link.line.impair={reorder=0.1, reorder_by=\"1 ms\"}",
            "unknown setting of oc48c-atm \"reorder\"; one of toward, loss",
        ),
        ("lossy", "link.line.impair={loss=2.0}", "or a number from 0 to 1"),
        ("lossy", "link.line.impair={loss=0.1, toward=\"c\"}", "unknown end of this line"),
    ];
    for (name, set, expected) in cases {
        let said = said(name, set);
        assert!(said.contains(expected), "{set}\n  said {said}\n  not  {expected}");
        assert!(said.starts_with(&format!("--set {set} (scenarios/{name}.toml): ")), "{said}");
    }
}
