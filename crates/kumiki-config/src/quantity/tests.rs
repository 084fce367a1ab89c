use proptest::prelude::*;

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn refused<Q: Quantity + fmt::Debug>(text: &str) -> String {
    parse::<Q>(text).unwrap_err().to_string()
}

#[test]
fn values_are_exact() {
    assert_eq!(parse("20 ms"), Ok(ms(20)));
    assert_eq!(parse("2s"), Ok(Duration::from_secs(2)));
    assert_eq!(parse("1.5 us"), Ok(Duration::from_nanos(1_500)));
    assert_eq!(parse("1.5 \u{b5}s"), Ok(Duration::from_nanos(1_500)));
    assert_eq!(parse("0"), Ok(Duration::ZERO));
    assert_eq!(parse("0.0"), Ok(Duration::ZERO));
    assert_eq!(parse("149.76 Mb/s"), Ok(Rate(149_760_000)));
    assert_eq!(parse("1 Gb/s"), Ok(Rate(1_000_000_000)));
    assert_eq!(parse("45Mbps"), Ok(Rate(45_000_000)));
    assert_eq!(parse("53000 B"), Ok(Octets(53_000)));
    assert_eq!(parse("53_000 octets"), Ok(Octets(53_000)));
    assert_eq!(parse("1 MiB"), Ok(Octets(1_048_576)));
    assert_eq!(parse("2 TB"), Ok(Octets(2_000_000_000_000)));
    assert_eq!(parse("1TiB"), Ok(Octets(1 << 40)));
    assert_eq!(Octets(1 << 40).to_string(), "1 TiB");
    assert_eq!(parse("0.5 KiB"), Ok(Octets(512)));
    assert_eq!(parse("64 kB"), Ok(Octets(64_000)));
    assert_eq!(parse("0.1 %"), Ok(Share(1_000_000_000)));
    assert_eq!(parse("1 ppm"), Ok(Share(1_000_000)));
    // As a scenario's `impair` has it.
    assert_eq!(parse("0.01"), Ok(Share(10_000_000_000)));
    assert_eq!(parse("1"), Ok(Share::ONE));
    assert!(parse::<Share>("5").is_err(), "5 %, or five times all?");
    assert_eq!(parse("100 Mbit"), Ok(Rate(100_000_000)));
    assert_eq!(parse("131072"), Ok(131_072_u64));
    assert_eq!(parse("18446744073709551615 ns"), Ok(Duration::MAX));
    // A tenth has no exact binary form; this must not be 99,999,999 or 100,000,001 ns.
    assert_eq!(parse("0.1 s"), Ok(ms(100)));
}

#[test]
fn messages_say_what_is_wrong_and_what_would_be_right() {
    assert_eq!(parse::<Rate>("45Mbsp").unwrap_err().at("rate"), r#"rate = "45Mbsp": unknown unit "Mbsp"; try Mb/s"#);
    assert_eq!(refused::<Rate>("45 mb/s"), r#""45 mb/s": unknown unit "mb/s"; try Mb/s"#);
    assert_eq!(
        refused::<Rate>("45 MB/s"),
        r#""45 MB/s": unit "MB/s" is not accepted, as rates are in bits, not octets; try Mb/s (an eighth of it)"#
    );
    assert_eq!(
        refused::<Octets>("64 KB"),
        r#""64 KB": unit "KB" is not accepted, as it stands for 1000 as often as for 1024; try KiB (1024 octets) or kB (1000 octets)"#
    );
    assert_eq!(refused::<Duration>("20"), r#""20": no unit; try "20 UNIT" with one of ns, us, ms, s, min, h"#);
    assert_eq!(
        refused::<Duration>("20 parsecs"),
        r#""20 parsecs": unknown unit "parsecs"; expected a duration such as "20 ms" (ns, us, ms, s, min, h)"#
    );
    assert_eq!(
        refused::<Duration>("-1 ms"),
        r#""-1 ms": a sign is not accepted; expected a duration such as "20 ms" (ns, us, ms, s, min, h)"#
    );
    assert_eq!(
        refused::<u64>("16 KiB"),
        r#""16 KiB": a number without unit is wanted, not "KiB"; expected a whole number such as 16"#
    );
    for (text, near) in [("50 msec", "ms"), ("50usec", "us"), ("3 seconds", "s"), ("2 minutes", "min"), ("2 mn", "ms")]
    {
        assert!(refused::<Duration>(text).ends_with(&format!("; try {near}")), "{}", refused::<Duration>(text));
    }
    assert!(refused::<Rate>("2 Mbits").ends_with("; try Mb/s"));
    assert!(refused::<Duration>("").contains("nothing is written here"));
    assert!(refused::<Duration>("ms").contains("no number"));
    assert!(refused::<Duration>("0.5 ns").contains("not a whole number of nanoseconds"));
    assert!(refused::<u64>("0.5").contains("not a whole number"));
    assert!(refused::<Duration>("1.2.3 s").contains("not a number"));
    assert!(refused::<Duration>("5. s").contains("not a number"));
    assert!(refused::<Duration>("1__0 s").contains("not a number"));
    assert!(refused::<Duration>("585 Y").contains("unknown unit"));
    assert!(refused::<Duration>("18446744073709551615 h").contains("more than 2^64 nanoseconds"));
}

#[test]
fn lists_and_ranges_are_written_out() {
    let rtt: Vec<Duration> = parse_list("0 ms .. 200 ms step 20 ms").unwrap();
    assert_eq!(rtt, (0..=10).map(|n| ms(n * 20)).collect::<Vec<_>>());
    let windows: Vec<Octets> = parse_list("8 KiB .. 256 KiB times 2").unwrap();
    assert_eq!(windows, [8, 16, 32, 64, 128, 256].map(|n| Octets(n * 1024)));
    assert_eq!(parse_list::<u64>("1, 4 .. 11 step 3, 60").unwrap(), [1, 4, 7, 10, 60]);
    assert_eq!(parse_list::<u64>("7").unwrap(), [7]);
    assert_eq!(
        parse_list::<u64>("18446744073709551614 .. 18446744073709551615 step 1").unwrap(),
        [u64::MAX - 1, u64::MAX]
    );
}

#[test]
fn ranges_that_make_no_list_are_refused() {
    let problem = |text: &str| parse_list::<Duration>(text).unwrap_err().problem;
    assert_eq!(problem("0 ms .. 9 ms"), "the range has no step");
    assert_eq!(parse_list::<u64>("1 .. 4, 9").unwrap(), [1, 2, 3, 4, 9]);
    assert_eq!(problem("9 ms .. 1 ms step 1 ms"), "the range runs backwards");
    assert_eq!(problem("1 ms .. 9 ms step 0"), "the range does not advance");
    assert_eq!(problem("0 .. 9 ms times 2"), "the range does not advance");
    assert_eq!(problem("0 .. 1 s step 1 ns"), "more than 100000 values");
    assert_eq!(problem("1 ms,, 2 ms"), "nothing is written here");
}

#[test]
fn sizes_are_written_as_people_write_them() {
    for text in
        ["0 B", "512 B", "1448 B", "8000 B", "8 KiB", "64 KiB", "1 GiB", "100 kB", "128 kB", "10 MB", "3 GB", "12345 B"]
    {
        assert_eq!(parse::<Octets>(text).unwrap().to_string(), text);
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(n: u64) {
        prop_assert_eq!(parse(&Rate(n).to_string()), Ok(Rate(n)));
        prop_assert_eq!(parse(&Octets(n).to_string()), Ok(Octets(n)));
        prop_assert_eq!(parse(&Share(n).to_string()), Ok(Share(n)));
        prop_assert_eq!(parse(&Duration::from_nanos(n).to_string()), Ok(Duration::from_nanos(n)));
        prop_assert_eq!(parse(&n.to_string()), Ok(n));
    }

    #[test]
    fn no_text_panics(text: String, tail in "[-0-9._ ]{0,40}(step|times|\\.\\.|,|ms|%|Mb/s| )*[0-9a-zA-Z/%]{0,6}") {
        for text in [text, tail] {
            let _ = parse_list::<Rate>(&text);
            let _ = parse_list::<Octets>(&text);
            let _ = parse_list::<Share>(&text);
            let _ = parse_list::<Duration>(&text);
            let _ = parse_list::<u64>(&text);
        }
    }
}
