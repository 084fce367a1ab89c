//! The language of scripts.

use crate::ppp_daemon::misbehave::Script;

#[test]
fn all_that_is_documented_is_read() {
    let text = r#"
# What users of PPP asked for.
ignore LCP ConfReq
ignore 3 of LCP ConfReq
drop 3 of IPCP ConfReq
drop any
late LCP ConfAck 5s
late any 20ms
double CHAP Response
bad id LCP ConfAck
bad length IPCP ConfReq -1
bad length IPCP ConfReq +4
cut PAP AuthReq 3
nak LCP mru 68 for ever
nak LCP auth pap 3 times
nak IPCP addr 10.0.0.1
nak IPV6CP addr 0000000000000001
nak LCP quality 500ms
nak LCP option 250 0102
reject LCP magic
reject LCP pcomp for ever
send LCP option 250 0102
send LCP mru 68
send LCP asyncmap 0x000a0000
send LCP pcomp
send LCP mru hex 05
without LCP magic
send LCP DiscReq "octets" every 1s
send LCP DiscReq "octets" after 1s every 200ms 5 times  # until then
send LCP code 99 0102
send IPCP ConfReq 03060a000002
send raw ff03c0210101000405
flood LCP EchoReq 1000
flood LCP EchoReq "octets" 10
loop back
echo with peer's magic
terminate after 2s
terminate
then
then after 2s
then when LCP opened
then when rcvd LCP EchoReq
then when sent PAP AuthReq
"#;
    Script::parse(text).unwrap_or_else(|error| panic!("{error}"));
    // The documents show what is read.
    let documented = include_str!("../../../../../docs/ppp.md");
    let blocks = documented.split("```script\n").skip(1);
    let mut count = 0;
    for block in blocks {
        let (script, _) = block.split_once("```").unwrap();
        Script::parse(script).unwrap_or_else(|error| panic!("docs/ppp.md: {script}: {error}"));
        count += 1;
    }
    assert!(count > 0, "docs/ppp.md shows no script");
}

#[test]
fn what_is_not_understood_is_said_with_its_line_and_what_would_be_right() {
    for (text, message) in [
        ("\nignor LCP ConfReq", "line 2: `ignor` begins no rule; a rule begins with ignore, drop"),
        ("ignore", "line 1: the line ends too early; there are LCP, PAP"),
        ("ignore LPC any", "line 1: `LPC` is no protocol; there are LCP, PAP, CHAP, LQR, IPCP, IPV6CP"),
        ("ignore LCP ConfRec", "line 1: `ConfRec` is no packet of that protocol; there are ConfReq, ConfAck"),
        ("ignore IPCP EchoReq", "line 1: `EchoReq` is no packet of that protocol"),
        ("nak LCP mur 68", "line 1: `mur` is no option of that protocol; there are mru, asyncmap"),
        ("nak LCP mru 70000", "line 1: `70000` cannot be the value; a number that 2 octets hold"),
        ("nak LCP mru 68 for", "line 1: `ever` is missing; `for ever` or `3 times` is right"),
        ("nak LCP mru 68 3", "line 1: `times` is missing"),
        ("nak IPCP addr ten", "line 1: `ten` is no address; an IPv4 address such as 10.0.0.1"),
        ("late LCP ConfAck 5", "line 1: `5` is no time; a time is a number with ms or s"),
        ("send LCP any", "line 1: what is sent has no code"),
        ("send raw 123", "line 1: `123` are no octets; an even number of hexadecimal digits"),
        ("send LCP DiscReq \"octets", "line 1: a quote is not closed"),
        ("send LCP DiscReq every 0s", "line 1: every 0 s would be without end"),
        ("flood LCP EchoReq 1000000", "line 1: 1000000 are too many; at most 10000 go at once"),
        ("loop forward", "line 1: `forward` stands where `back` must"),
        ("bad", "line 1: what is bad is not said; `bad id PACKET` or"),
        ("loop back now", "line 1: `now` is too much"),
        ("then later", "line 1: `later` stands where `when` must; `then after 2s`"),
        ("ignore \"LCP\"", "line 1: \"LCP\" stands where a word must"),
    ] {
        let error = Script::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}
