use core::net::Ipv4Addr;

use super::*;

#[derive(Clone, Copy, PartialEq, Debug, Word)]
enum Way {
    WhenFull,
    #[word("at_once")]
    AtOnce,
    #[word(skip)]
    By(u8),
}

#[derive(Clone, PartialEq, Debug, Settings)]
struct Times {
    /// How long it may take.
    #[setting(least = Duration::from_secs(1))]
    longest: Duration,
    /// Without
    /// which nothing ends.
    #[setting(positive, unset = "never")]
    shortest: Option<Duration>,
}

#[derive(Clone, PartialEq, Debug, Settings)]
struct Rate {
    /// How many at once.
    #[setting(0..=1_000)]
    burst: u32,
}

#[derive(Clone, PartialEq, Debug, Settings)]
#[settings(check = in_order)]
struct Config {
    #[setting(skip)]
    inner: Option<Box<Self>>,
    /// Whether others are served.
    ///
    /// As [`Way`] has it.
    forwarding: bool,
    /// Whether it is noted.
    #[setting(unset = "where others are served")]
    noted: Option<bool>,
    /// Hops.
    #[setting(1..=255)]
    ttl: u8,
    /// Most data.
    #[setting(1..=65535, octets, unset = "what IP carries")]
    mss: Option<u16>,
    /// Line rate.
    #[setting(1..=40_000_000_000, rate, required = "a rate")]
    speed: u64,
    /// Chance of loss.
    #[setting(share)]
    loss: f64,
    /// Bits.
    #[setting(words = BITS)]
    bits: u8,
    /// The wait.
    wait: Duration,
    /// What is done.
    #[setting(word, name = "async")]
    way: Way,
    /// Which side.
    #[setting(words = SIDES)]
    side: Option<u8>,
    /// Ours.
    #[setting(text, expected = "an IPv4 address", required)]
    address: Ipv4Addr,
    /// Theirs.
    #[setting(text = even, expected = "an even number", unset = "none")]
    peer: Option<u32>,
    /// Groups.
    #[setting(list, expected = "an IPv4 address", required = "some groups")]
    groups: Vec<Ipv4Addr>,
    /// Next hops.
    #[setting(pairs = pair, any = "<address>", expected = "a number")]
    known: Vec<(Ipv4Addr, u8)>,
    #[setting(table)]
    times: Times,
    /// How often.
    #[setting(0..=9, within = "tries")]
    calls: u8,
    /// From one to the next.
    #[setting(within = "tries")]
    interval: Duration,
    #[setting(flatten)]
    rate: Rate,
    #[setting(with = twice)]
    packets: (u8, u8),
}

const BITS: [(&str, u8); 2] = [("16", 16), ("none", 0)];

const SIDES: [(&str, Option<u8>); 2] = [("seven", Some(7)), ("either", None)];

fn even(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.is_multiple_of(2))
}

fn pair(address: &str, number: &str) -> Option<(Ipv4Addr, u8)> {
    address.parse().ok().zip(number.parse().ok())
}

fn twice(place: &mut (u8, u8), reader: &Reader<'_>) -> Result<(), BuildError> {
    reader.number(&Key::new("packet", "Both ways."), 1..=9, &mut place.0)?;
    place.1 = place.0;
    Ok(())
}

fn in_order(config: &Config, reader: &Reader<'_>) -> Result<(), BuildError> {
    if config.times.shortest.is_some_and(|shortest| shortest > config.times.longest) {
        return Err(reader.wrong("times", &"out of order", "in order"));
    }
    Ok(())
}

fn config() -> Config {
    Config {
        inner: None,
        forwarding: false,
        noted: None,
        ttl: 64,
        mss: None,
        speed: 64_000,
        loss: 0.000_25,
        bits: 16,
        wait: Duration::ZERO,
        way: Way::WhenFull,
        side: None,
        address: Ipv4Addr::UNSPECIFIED,
        peer: None,
        groups: Vec::new(),
        known: Vec::new(),
        times: Times { longest: Duration::from_secs(9), shortest: None },
        calls: 1,
        interval: Duration::ZERO,
        rate: Rate { burst: 5 },
        packets: (2, 2),
    }
}

fn list_of<const N: usize>(values: [impl Into<Value>; N]) -> Value {
    Value::List(values.into_iter().map(Into::into).collect())
}

fn least() -> Settings {
    let least = Settings::new().with("address", "10.0.0.1").with("groups", list_of(["224.0.0.9"]));
    least.with("speed", Value::Rate(1_500_000))
}

#[test]
fn every_setting_is_listed_with_form_meaning_and_default() {
    let listed = settings_of(&mut config()).iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = [
        "`forwarding`: true or false. Whether others are served. Default: false",
        "`noted`: true or false. Whether it is noted. Default: where others are served",
        "`ttl`: a number from 1 to 255. Hops. Default: 64",
        "`mss`: a size from 1 B to 65535 B. Most data. Default: what IP carries",
        "`speed`: a rate from 1 b/s to 40 Gb/s. Line rate. Default: ",
        "`loss`: a share from 0 % to 100 %. Chance of loss. Default: 250 ppm",
        "`bits`: 16 or \"none\". Bits. Default: 16",
        "`wait`: a time. The wait. Default: 0 s",
        "`async`: \"when-full\" or \"at_once\". What is done. Default: when-full",
        "`side`: \"seven\" or \"either\". Which side. Default: either",
        "`address`: an IPv4 address. Ours. Default: ",
        "`peer`: an even number. Theirs. Default: none",
        "`groups`: a list, each an IPv4 address. Groups. Default: none",
        "`known.<address>`: a number. Next hops. Default: none",
        "`times.longest`: a time of at least 1 s. How long it may take. Default: 9 s",
        "`times.shortest`: a time of at least 1 ns. Without which nothing ends. Default: never",
        "`tries.calls`: a number from 0 to 9. How often. Default: 1",
        "`tries.interval`: a time. From one to the next. Default: 0 s",
        "`burst`: a number from 0 to 1000. How many at once. Default: 5",
        "`packet`: a number from 1 to 9. Both ways. Default: 2",
    ];
    assert_eq!(listed, expected);
    let mut other = Config { way: Way::AtOnce, mss: Some(2048), ..config() };
    let listed = settings_of(&mut other);
    let default = |path: &[&str]| listed.iter().find(|it| it.is_at(path)).map(|it| it.default.clone());
    assert_eq!(default(&["async"]).as_deref(), Some("at_once"));
    assert_eq!(default(&["mss"]).as_deref(), Some("2 KiB"));
    assert_eq!(default(&["known", "10.0.0.1"]).as_deref(), Some("none"));
}

#[test]
fn what_is_set_goes_into_its_place_and_the_rest_stays() {
    let mut changed = config();
    let times = Settings::new().with("shortest", Duration::from_secs(1));
    let settings = least()
        .with("forwarding", true)
        .with("noted", false)
        .with("ttl", 1)
        .with("mss", Value::Octets(1460))
        .with("loss", Value::Share(10_000_000_000))
        .with("bits", "none")
        .with("async", "at_once")
        .with("side", "seven")
        .with("peer", "8")
        .with("known", Settings::new().with("10.0.0.2", "7"))
        .with("times", times)
        .with("tries", Settings::new().with("calls", 3))
        .with("burst", 0)
        .with("packet", 3);
    set("node", &mut changed, &settings).unwrap();
    let expected = Config {
        forwarding: true,
        noted: Some(false),
        ttl: 1,
        mss: Some(1460),
        speed: 1_500_000,
        loss: 0.01,
        bits: 0,
        way: Way::AtOnce,
        side: Some(7),
        address: Ipv4Addr::new(10, 0, 0, 1),
        peer: Some(8),
        groups: vec![Ipv4Addr::new(224, 0, 0, 9)],
        known: vec![(Ipv4Addr::new(10, 0, 0, 2), 7)],
        times: Times { shortest: Some(Duration::from_secs(1)), ..config().times },
        calls: 3,
        rate: Rate { burst: 0 },
        packets: (3, 3),
        ..config()
    };
    assert_eq!(changed, expected);
    assert_ne!(changed.way, Way::By(1));
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let with = |key: &str, value: Value| least().with(key, value);
    let table = |key: &str, value: Value| Value::Table(Settings::new().with(key, value));
    let cases = [
        (Settings::new(), "`node.speed` is not set; it must be a rate"),
        (Settings::new().with("speed", Value::Rate(1)), "`node.address` is not set; it must be an IPv4 address"),
        (
            Settings::new().with("speed", Value::Rate(1)).with("address", "10.0.0.1"),
            "`node.groups` is not set; it must be some groups",
        ),
        (with("speed", 64_000.into()), "`node.speed` is 64000; it must be a rate from 1 b/s to 40 Gb/s"),
        (with("speed", Value::Rate(0)), "`node.speed` is 0 b/s; it must be a rate from 1 b/s to 40 Gb/s"),
        (with("loss", Value::Share(1_500_000_000_000)), "`node.loss` is 150 %; it must be a share from 0 % to 100 %"),
        (with("loss", 1.into()), "`node.loss` is 1; it must be a share"),
        (Settings::new().with("adress", "10.0.0.1"), "`node` has no setting `adress` (is `address` meant?); it has `f"),
        (with("forwarding", 1.into()), "`node.forwarding` is 1; it must be true or false"),
        (with("ttl", 0.into()), "`node.ttl` is 0; it must be a number from 1 to 255"),
        (with("ttl", (-1).into()), "`node.ttl` is -1; it must be a number from 1 to 255"),
        (with("mss", 1460.into()), "`node.mss` is 1460; it must be a size from 1 B to 65535 B"),
        (with("mss", Value::Octets(65536)), "`node.mss` is 65536 B; it must be a size from 1 B to 65535 B"),
        (with("wait", 3.into()), "`node.wait` is 3; it must be a time"),
        (
            with("async", "when_full".into()),
            "is \"when_full\" (is `when-full` meant?); it must be one of `when-full`, ",
        ),
        (with("async", true.into()), "`node.async` is true; it must be \"when-full\" or \"at_once\""),
        (with("peer", "7".into()), "`node.peer` is \"7\"; it must be an even number"),
        (with("groups", list_of(["x"])), "`node.groups` is \"x\"; it must be a list, each an IPv4 address"),
        (with("known", table("10.0.0.2", "x".into())), "`node.known.10.0.0.2` is \"x\"; it must be a number"),
        (with("known", 1.into()), "`node.known` is 1; it must be a table of <address> = a number"),
        (with("times", 1.into()), "`node.times` is 1; it must be a table"),
        (
            with("times", table("longest", Duration::ZERO.into())),
            "`node.times.longest` is 0 s; it must be a time of at least 1 s",
        ),
        (with("times", table("most", 1.into())), "`node.times` has no setting `most`; it has `longest`, `shortest`"),
        (
            with("times", table("shortest", Duration::from_secs(99).into())),
            "`node.times` is out of order; it must be in order",
        ),
        (with("packet", 10.into()), "`node.packet` is 10; it must be a number from 1 to 9"),
    ];
    for (settings, expected) in cases {
        let why = set("node", &mut config(), &settings).unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn tables_of_tables_are_read_by_name_and_listed_once() {
    let mut found = Vec::new();
    let mut settings = Settings::new();
    let read = |found: &mut Vec<(String, u32)>, reader: &Reader<'_>| {
        reader.tables("port", "<name>", |name, reader| {
            let mut rate = Rate { burst: 5 };
            rate.read(reader)?;
            found.push((name.to_owned(), rate.burst));
            Ok(())
        })
    };
    let listed = list(&settings, |reader| read(&mut found, reader));
    assert_eq!(listed[0].path, ["port", "<name>", "burst"]);
    let ports = Settings::new().with("a", Settings::new().with("burst", 1)).with("b", Settings::new());
    settings.set("port", ports);
    found.clear();
    super::read("node", &settings, |reader| read(&mut found, reader)).unwrap();
    assert_eq!(found, [("a".to_owned(), 1), ("b".to_owned(), 5)]);
    let why = super::read("node", &Settings::new().with("port", 1), |reader| read(&mut found, reader)).unwrap_err();
    assert_eq!(why.to_string(), "`node.port` is 1; it must be a table of tables");
}
