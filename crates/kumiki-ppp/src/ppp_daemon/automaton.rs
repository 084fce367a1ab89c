//! The option negotiation automaton of PPP, which LCP and every network control protocol run.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 section 4: its table stands here in its own rows and words |
//! | Used by | LCP, IPCP, IPV6CP |
//! | Left out | nothing of section 4; what an option means is its protocol's |
//!
//! The automaton knows no packets and no clock. Its owner tells it what happened ([`Automaton::on`],
//! [`Automaton::expire`]) and does what comes back, in order; the Restart counter and the length of the Restart timer
//! are kept here.

use core::fmt;

use kumiki_graph::Duration;
use smallvec::SmallVec;

/// The states of RFC 1661 section 4.2, with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum State {
    /// 0: the lower layer is unavailable, and no Open has occurred.
    #[default]
    Initial,
    /// 1: opened, while the lower layer is unavailable.
    Starting,
    /// 2: the link is available, but no Open has occurred.
    Closed,
    /// 3: waiting for a new Configure-Request after the peer has finished or did not answer.
    Stopped,
    /// 4: a Terminate-Request has been sent because of Close.
    Closing,
    /// 5: as [`State::Closing`], but not closed by the administrator.
    Stopping,
    /// 6: a Configure-Request has been sent, neither acknowledged nor has one been acknowledged.
    ReqSent,
    /// 7: our Configure-Request has been acknowledged.
    AckRcvd,
    /// 8: the peer's Configure-Request has been acknowledged.
    AckSent,
    /// 9: both have.
    Opened,
}

impl State {
    const ALL: [Self; 10] = [
        Self::Initial,
        Self::Starting,
        Self::Closed,
        Self::Stopped,
        Self::Closing,
        Self::Stopping,
        Self::ReqSent,
        Self::AckRcvd,
        Self::AckSent,
        Self::Opened,
    ];

    /// Whether Configure-Requests are being exchanged: Req-Sent, Ack-Rcvd, Ack-Sent.
    #[must_use]
    pub const fn is_negotiating(self) -> bool {
        matches!(self, Self::ReqSent | Self::AckRcvd | Self::AckSent)
    }

    /// Whether the Restart timer runs: the states in which it can expire (section 4.1).
    #[must_use]
    pub const fn has_timer(self) -> bool {
        matches!(self, Self::Closing | Self::Stopping | Self::ReqSent | Self::AckRcvd | Self::AckSent)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initial => "Initial",
            Self::Starting => "Starting",
            Self::Closed => "Closed",
            Self::Stopped => "Stopped",
            Self::Closing => "Closing",
            Self::Stopping => "Stopping",
            Self::ReqSent => "Req-Sent",
            Self::AckRcvd => "Ack-Rcvd",
            Self::AckSent => "Ack-Sent",
            Self::Opened => "Opened",
        })
    }
}

/// The events of RFC 1661 section 4.3, in the order of the table. Expiry of the timer is [`Automaton::expire`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// The lower layer is ready to carry packets.
    Up,
    /// The lower layer is no longer ready.
    Down,
    /// The administrator allows the link to be opened.
    Open,
    /// The administrator wants the link closed.
    Close,
    /// The Restart timer expired and the counter is greater than zero.
    TimeoutPlus,
    /// The Restart timer expired and the counter is not greater than zero.
    TimeoutMinus,
    /// Receive-Configure-Request, good.
    RcrPlus,
    /// Receive-Configure-Request, bad.
    RcrMinus,
    /// Receive-Configure-Ack, valid.
    Rca,
    /// Receive-Configure-Nak or -Reject, valid.
    Rcn,
    /// Receive-Terminate-Request.
    Rtr,
    /// Receive-Terminate-Ack.
    Rta,
    /// Receive-Unknown-Code.
    Ruc,
    /// Receive-Code-Reject or -Protocol-Reject, permitted.
    RxjPlus,
    /// Receive-Code-Reject or -Protocol-Reject, catastrophic.
    RxjMinus,
    /// Receive-Echo-Request, -Reply or -Discard-Request.
    Rxr,
}

/// What the owner does (RFC 1661 section 4.4); what concerns counter and timer is done here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// This-Layer-Up: entering Opened, which is told to the layers above.
    Tlu,
    /// This-Layer-Down: leaving Opened, which is told to the layers above.
    Tld,
    /// This-Layer-Started: the lower layer is needed.
    Tls,
    /// This-Layer-Finished: the lower layer is no longer needed.
    Tlf,
    /// Send-Configure-Request.
    Scr,
    /// Send-Configure-Ack.
    Sca,
    /// Send-Configure-Nak or -Reject.
    Scn,
    /// Send-Terminate-Request.
    Str,
    /// Send-Terminate-Ack.
    Sta,
    /// Send-Code-Reject.
    Scj,
    /// Send-Echo-Reply, where an Echo-Request was received.
    Ser,
    /// Initialize-Restart-Count.
    Irc,
    /// Zero-Restart-Count.
    Zrc,
}

/// RFC 1661 section 4.1: a row for each [`Event`] in that order, a column for each [`State`]; `actions/new-state`. `-`
/// cannot occur. `p` omits tlf where the passive option is set, `r` can restart, `x` is a crossed connection.
#[rustfmt::skip]
const TABLE: [[&str; 10]; 16] = [
    //          0        1            2        3              4        5        6            7            8            9
    /* Up   */ ["2",     "irc,scr/6", "-",     "-",           "-",     "-",     "-",         "-",         "-",         "-"],
    /* Down */ ["-",     "-",         "0",     "tls/1",       "0",     "1",     "1",         "1",         "1",         "tld/1"],
    /* Open */ ["tls/1", "1",         "irc,scr/6", "3r",      "5r",    "5r",    "6",         "7",         "8",         "9r"],
    /* Close*/ ["0",     "tlf/0",     "2",     "2",           "4",     "4",     "irc,str/4", "irc,str/4", "irc,str/4", "tld,irc,str/4"],

    /* TO+  */ ["-",     "-",         "-",     "-",           "str/4", "str/5", "scr/6",     "scr/6",     "scr/8",     "-"],
    /* TO-  */ ["-",     "-",         "-",     "-",           "tlf/2", "tlf/3", "tlf/3p",    "tlf/3p",    "tlf/3p",    "-"],

    /* RCR+ */ ["-",     "-",         "sta/2", "irc,scr,sca/8", "4",   "5",     "sca/8",     "sca,tlu/9", "sca/8",     "tld,scr,sca/8"],
    /* RCR- */ ["-",     "-",         "sta/2", "irc,scr,scn/6", "4",   "5",     "scn/6",     "scn/7",     "scn/6",     "tld,scr,scn/6"],
    /* RCA  */ ["-",     "-",         "sta/2", "sta/3",       "4",     "5",     "irc/7",     "scr/6x",    "irc,tlu/9", "tld,scr/6x"],
    /* RCN  */ ["-",     "-",         "sta/2", "sta/3",       "4",     "5",     "irc,scr/6", "scr/6x",    "irc,scr/8", "tld,scr/6x"],

    /* RTR  */ ["-",     "-",         "sta/2", "sta/3",       "sta/4", "sta/5", "sta/6",     "sta/6",     "sta/6",     "tld,zrc,sta/5"],
    /* RTA  */ ["-",     "-",         "2",     "3",           "tlf/2", "tlf/3", "6",         "6",         "8",         "tld,scr/6"],

    /* RUC  */ ["-",     "-",         "scj/2", "scj/3",       "scj/4", "scj/5", "scj/6",     "scj/7",     "scj/8",     "scj/9"],
    /* RXJ+ */ ["-",     "-",         "2",     "3",           "4",     "5",     "6",         "6",         "8",         "9"],
    /* RXJ- */ ["-",     "-",         "tlf/2", "tlf/3",       "tlf/2", "tlf/3", "tlf/3",     "tlf/3",     "tlf/3",     "tld,irc,str/5"],

    /* RXR  */ ["-",     "-",         "2",     "3",           "4",     "5",     "6",         "7",         "8",         "ser/9"],
];

/// A cell of the table.
#[derive(Clone, Copy)]
struct Cell {
    actions: [Option<Action>; 3],
    next: State,
    /// `p`, `r` or `x`; 0 where there is none.
    note: u8,
}

/// The table, read by the compiler.
const CELLS: [[Option<Cell>; 10]; 16] = cells();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, for a table of known size")]
const fn cells() -> [[Option<Cell>; 10]; 16] {
    let mut cells = [[None; 10]; 16];
    let mut row = 0;
    while row < 16 {
        let mut column = 0;
        while column < 10 {
            cells[row][column] = cell(TABLE[row][column].as_bytes());
            column += 1;
        }
        row += 1;
    }
    cells
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, for the cells of the table")]
const fn cell(text: &[u8]) -> Option<Cell> {
    if text[0] == b'-' {
        return None;
    }
    let mut actions = [None; 3];
    let (mut count, mut at) = (0, 0);
    while text[at] >= b'a' {
        actions[count] = Some(action([text[at], text[at + 1], text[at + 2]]));
        count += 1;
        // Past the comma or slash.
        at += 4;
    }
    let next = State::ALL[(text[at] - b'0') as usize];
    let note = if at + 1 < text.len() { text[at + 1] } else { 0 };
    Some(Cell { actions, next, note })
}

const fn action(name: [u8; 3]) -> Action {
    match &name {
        b"tlu" => Action::Tlu,
        b"tld" => Action::Tld,
        b"tls" => Action::Tls,
        b"tlf" => Action::Tlf,
        b"scr" => Action::Scr,
        b"sca" => Action::Sca,
        b"scn" => Action::Scn,
        b"str" => Action::Str,
        b"sta" => Action::Sta,
        b"scj" => Action::Scj,
        b"ser" => Action::Ser,
        b"irc" => Action::Irc,
        b"zrc" => Action::Zrc,
        _ => panic!("no action of section 4.4"),
    }
}

/// Counters and timers of RFC 1661 section 4.6, and the two options of its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The Restart timer at first; at least 1 ns is taken.
    pub restart: Duration,
    /// It doubles with each retransmission up to this.
    pub restart_most: Duration,
    /// Terminate-Requests sent without an answer.
    pub max_terminate: u32,
    /// Configure-Requests sent without an answer.
    pub max_configure: u32,
    /// Passive option (`p`): wait for the peer where nobody answers, instead of giving the lower layer up.
    pub passive: bool,
    /// Restart option (`r`): Open where the automaton is Stopped, Stopping or Opened is Down, then Up.
    pub restartable: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            restart: Duration::from_millis(3000),
            restart_most: Duration::from_millis(3000),
            max_terminate: 2,
            max_configure: 10,
            passive: false,
            restartable: false,
        }
    }
}

/// What the Restart timer does after an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// It goes on as it is.
    Keep,
    /// It is started, or started again, and lasts so long.
    Start(Duration),
    /// It is stopped.
    Stop,
}

/// What an event leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// To be done, in this order.
    pub actions: SmallVec<[Action; 4]>,
    /// Of the Restart timer.
    pub restart: Restart,
    /// Our connection and the peer's have crossed: a log may say so (RCA event discussion).
    pub crossed: bool,
}

/// An event that cannot occur in the state (section 4.4, Illegal-Event): nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{event:?} cannot occur in {state}")]
pub struct Illegal {
    /// What was told.
    pub event: Event,
    /// Where.
    pub state: State,
}

/// The automaton of one protocol.
#[derive(Clone, Debug)]
pub struct Automaton {
    config: Config,
    state: State,
    /// The Restart counter.
    counter: u32,
    /// How long the Restart timer lasts when it is started next.
    period: Duration,
}

impl Automaton {
    /// An automaton in Initial.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, state: State::Initial, counter: 0, period: config.restart }
    }

    /// Where it is.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// `event` has occurred.
    ///
    /// # Errors
    /// [`Illegal`] where it cannot; nothing has changed.
    pub fn on(&mut self, event: Event) -> Result<Step, Illegal> {
        let mut step = Step { actions: SmallVec::new(), restart: Restart::Keep, crossed: false };
        let note = self.follow(event, &mut step)?;
        if note == b'r' && self.config.restartable {
            self.follow(Event::Down, &mut step)?;
            self.follow(Event::Up, &mut step)?;
        }
        Ok(step)
    }

    /// The Restart timer has expired.
    ///
    /// # Errors
    /// [`Illegal`] in a state without the timer.
    pub fn expire(&mut self) -> Result<Step, Illegal> {
        if self.counter == 0 {
            return self.on(Event::TimeoutMinus);
        }
        self.period = (self.period + self.period).min(self.config.restart_most.max(self.config.restart));
        self.on(Event::TimeoutPlus)
    }

    /// Does what the table says of `event`; returns the note of the cell.
    fn follow(&mut self, event: Event, step: &mut Step) -> Result<u8, Illegal> {
        let state = self.state;
        let row = CELLS.get(event as usize);
        let cell = row.and_then(|row| row.get(state as usize)).copied().flatten();
        let cell = cell.ok_or(Illegal { event, state })?;
        for action in cell.actions.into_iter().flatten() {
            match action {
                Action::Irc => {
                    let terminates = cell.actions.contains(&Some(Action::Str));
                    self.counter = if terminates { self.config.max_terminate } else { self.config.max_configure };
                    self.period = self.config.restart;
                }
                Action::Zrc => {
                    self.counter = 0;
                    self.period = self.config.restart;
                    step.restart = self.started();
                }
                Action::Scr | Action::Str => {
                    self.counter = self.counter.saturating_sub(1);
                    step.restart = self.started();
                    step.actions.push(action);
                }
                Action::Tlf if cell.note == b'p' && self.config.passive => {}
                Action::Tlu
                | Action::Tld
                | Action::Tls
                | Action::Tlf
                | Action::Sca
                | Action::Scn
                | Action::Sta
                | Action::Scj
                | Action::Ser => step.actions.push(action),
            }
        }
        if state.has_timer() && !cell.next.has_timer() {
            step.restart = Restart::Stop;
        }
        step.crossed |= cell.note == b'x';
        self.state = cell.next;
        Ok(cell.note)
    }

    fn started(&self) -> Restart {
        Restart::Start(self.period.max(Duration::from_nanos(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 4.1: the states in which the Restart timer runs are those with TO events.
    #[test]
    fn the_timer_runs_where_the_table_lets_it_expire() {
        for (number, state) in State::ALL.into_iter().enumerate() {
            let expires = CELLS[Event::TimeoutPlus as usize][number].is_some();
            assert_eq!(state.has_timer(), expires, "{state}");
        }
    }
}
