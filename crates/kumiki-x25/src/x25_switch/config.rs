//! What can be set, what is counted, and what is told of calls.

use core::net::SocketAddr;

use kumiki_graph::{Duration, Instant, Reason};
use kumiki_osi_service::x25::{BadNumber, Number};
use kumiki_settings::{BuildError, HasSettings, Reader, Settings};

/// How a number is changed on its way: digits are taken off its beginning, then others put in front.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rewrite {
    /// How many digits are taken off; all where there are fewer. Type and plan of an address that has them stay.
    pub strip: u8,
    /// What is put in front.
    pub prepend: Number,
}

impl Rewrite {
    /// `number` as it goes on.
    ///
    /// # Errors
    /// It is longer than an address may be then.
    pub fn of(&self, number: Number) -> Result<Number, BadNumber> {
        let (kept, rest) = match number.type_and_plan() {
            Some(_) => (2, number.len().saturating_sub(2)),
            None => (0, number.len()),
        };
        let skip = rest.min(self.strip.into());
        let digits: Vec<u8> = number.digits().collect();
        let front = digits.iter().take(kept).copied();
        let middle = self.prepend.digits();
        let all = front.chain(middle).chain(digits.iter().skip(kept + skip).copied());
        if kept > 0 { Number::from_typed_digits(all) } else { Number::from_digits(all) }
    }
}

/// Where calls go whose called address begins so.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Route {
    /// The beginning of the called address; no digits: every call.
    pub prefix: Number,
    /// Only calls that came by one of these ports; none: by any.
    pub from: Vec<String>,
    /// Only calls whose user data begins so.
    pub user_data: Vec<u8>,
    /// The ports, tried in order.
    pub to: Vec<String>,
    /// What becomes of the called address.
    pub called: Rewrite,
    /// What becomes of the calling address.
    pub calling: Rewrite,
    /// Whether a call may leave by the port that it came by.
    pub back: bool,
}

/// One end of a permanent virtual circuit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CircuitEnd {
    /// The port.
    pub port: String,
    /// The channel there.
    pub channel: u16,
}

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// To which ports calls go whose called address begins so, tried in order; the longest beginning counts.
    ///
    /// Of two as long, the one that asks for more, and then the first.
    #[setting(list = route, expected = "a number's beginning and ports, such as \"2342 = paris, lyon\"")]
    pub routes: Vec<Route>,
    /// Permanent virtual circuits that are joined.
    #[setting(list = circuit, expected = "two ports and channels, such as \"paris:1 = lyon:7\"")]
    pub circuits: Vec<[CircuitEnd; 2]>,
    /// Ports that never report up: those over XOT.
    ///
    /// Calls can be made on them at any time.
    #[setting(list, expected = "the name of a port")]
    pub always_up: Vec<String>,
    /// The most calls.
    #[setting(1..=u32::MAX.into())]
    pub max_calls: u32,
    /// After so long an end of a permanent circuit that is not to be had is asked for again; later less often.
    #[setting(positive)]
    pub retry: Duration,
    /// A call by which nothing has crossed for so long is cleared.
    #[setting(positive, unset = "it stays")]
    pub idle: Option<Duration>,
    /// What a call costs of a budget of memory, in octets: its state in three layers, and what its windows and those
    /// below can hold.
    #[setting(skip)]
    pub memory: u64,
}

impl Config {
    /// What settings say, with ports `below` of these names.
    ///
    /// # Errors
    /// [`BuildError`] names the setting that is wrong, and what would be right.
    pub fn of_settings(reader: &Reader<'_>, below: &[&str]) -> Result<Self, BuildError> {
        let mut config = Self::default();
        config.read(reader)?;
        let ports = config.routes.iter().flat_map(|route| &route.to);
        let ends = config.circuits.iter().flatten().map(|place| &place.port);
        let strange = |name: &&String| !below.is_empty() && !below.contains(&name.as_str());
        match ports.chain(ends).chain(&config.always_up).find(strange) {
            Some(name) => Err(reader.wrong("", name, &format!("one of its ports: {}", below.join(", ")))),
            None => Ok(config),
        }
    }
}

fn route(text: &str) -> Option<Route> {
    let (number, ports) = text.split_once('=')?;
    let to: Vec<String> = ports.split(',').map(|it| it.trim().to_owned()).collect();
    let route = Route { prefix: Number::or_none(number.trim()).ok()?, to, ..Route::default() };
    (!route.to.iter().any(String::is_empty)).then_some(route)
}

fn circuit(text: &str) -> Option<[CircuitEnd; 2]> {
    let place = |text: &str| {
        let (port, channel) = text.trim().rsplit_once(':')?;
        let channel = channel.parse().ok().filter(|it| (1..=4095).contains(it))?;
        Some(CircuitEnd { port: port.to_owned(), channel })
    };
    let (a, b) = text.split_once('=')?;
    Some([place(a)?, place(b)?])
}

impl Default for Config {
    fn default() -> Self {
        Self {
            routes: Vec::new(),
            circuits: Vec::new(),
            always_up: Vec::new(),
            max_calls: 4096,
            retry: Duration::from_secs(30),
            idle: None,
            memory: 32 * 1024,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls that came.
    pub offered: u64,
    /// Calls that were set up.
    pub set_up: u64,
    /// Calls that were cleared before that.
    pub refused: u64,
    /// Calls among those that had been set up that are cleared.
    pub cleared: u64,
    /// Targets that were passed over because they were down.
    pub hunted: u64,
    /// Packets passed on.
    pub packets: u64,
    /// Octets of user data in them.
    pub octets: u64,
    /// Interrupts passed on.
    pub interrupts: u64,
    /// Resets passed on.
    pub resets: u64,
    /// Packets that a reset has thrown away.
    pub purged: u64,
    /// Events that nobody fetched.
    pub untold: u64,
}

/// Something that happened, for a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// The call, counted from 1; 0: it concerns none.
    pub call: u64,
    /// Where the two ends of the call are, the caller's first, as far as they are known and reached by XOT.
    pub peers: [Option<SocketAddr>; 2],
    /// What.
    pub what: CallEvent,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallEvent {
    /// A call has come, of which it will be told what becomes.
    Came {
        /// By which port.
        from: String,
    },
    /// A call stands.
    SetUp {
        /// By which port it came.
        from: String,
        /// By which it left.
        to: String,
        /// The calling address, as it came.
        calling: Number,
        /// The called address, as it came.
        called: Number,
    },
    /// A call was refused.
    Refused {
        /// By which port it came.
        from: String,
        /// The calling address.
        calling: Number,
        /// The called address.
        called: Number,
        /// The cause told to the caller.
        cause: u8,
        /// The diagnostic code beside it.
        diagnostic: u8,
        /// What was found wrong here with what an end sent, where that is why.
        found: Option<Reason>,
        /// By which port it was tried last, and what came of that; `None`: by none.
        tried: Option<(String, Reason)>,
    },
    /// A call that stood was cleared.
    Cleared {
        /// By which port that came; `None`: by ourselves.
        by: Option<String>,
        /// The cause.
        cause: u8,
        /// The diagnostic code.
        diagnostic: u8,
        /// What was found wrong here with what an end sent, where that is why.
        found: Option<Reason>,
        /// Octets from the caller and to it.
        octets: [u64; 2],
        /// How long it stood.
        lasted: Duration,
    },
    /// A circuit was reset.
    Reset {
        /// By which port that came.
        by: String,
        /// The cause.
        cause: u8,
        /// The diagnostic code.
        diagnostic: u8,
        /// What was found wrong here with what an end sent, where that is why.
        found: Option<Reason>,
    },
    /// A permanent circuit's end stands.
    Joined(CircuitEnd),
    /// It does not, for this reason.
    Parted(CircuitEnd, Reason),
    /// The interface of a port is ready.
    Up(String),
    /// It is no longer.
    Down(String),
}
