//! The terminal's side: what is typed, its echo, its editing, and what makes it leave.

use kumiki_graph::{Context, Duration, Handle, Indication, Token};
use kumiki_osi_service::x25::pad::{Parameter, Parameters};
use kumiki_osi_service::x25::{Facilities, diagnostic};
use kumiki_wire::x25::x29::{Message as PadMessage, Pair};

use super::command::{self, Command, Selection};
use super::signal::HELP;
use super::states::Event;
use super::{DOOR, MOST_PRINTED, MOST_WAITING, Pad, State, printer, timer};

const BEL: u8 = 0x07;
const CR: u8 = 0x0d;
const LF: u8 = 0x0a;
const X_ON: u8 = 0x11;
const X_OFF: u8 = 0x13;
const DLE: u8 = 0x10;
/// The longest command.
const MOST_LINE: usize = 256;

impl Pad {
    pub(super) fn on_terminal(&mut self, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => self.seat(&offered, cx),
            Indication::Data { data, .. } => {
                if let Some(seat) = &mut self.seat {
                    seat.granted = seat.granted.saturating_sub(data.len() as u64);
                }
                for octet in data.to_vec() {
                    self.hear(octet);
                }
            }
            Indication::Expedited { .. } => self.on_break(true, cx),
            Indication::Credit { credit, .. } => {
                if let Some(seat) = &mut self.seat {
                    seat.credit = seat.credit.saturating_add(credit.octets);
                }
            }
            Indication::Released { .. } => {
                if let Some(seat) = &mut self.seat {
                    seat.has_ended = true;
                }
                // It can say X-ON or turn a page no more.
                self.printer.is_stopped = false;
                self.turn_page();
            }
            Indication::Closed { session } | Indication::Aborted { session, .. } => {
                if session != DOOR {
                    self.unseat(cx);
                }
            }
            Indication::Opened(_) | Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Unit(_) | Indication::Special { .. } | Indication::Reset { .. } => {
                cx.drop("no terminal says this");
            }
        }
    }

    /// A character has come. What stops and starts the output acts at once; all else waits for its turn.
    fn hear(&mut self, octet: u8) {
        let parity = self.of(Parameter::Parity);
        if parity & 1 != 0 && printer::even(octet) != octet {
            self.counters.parity_errors += 1;
            // One that sends nothing else and does not read is not told of each.
            if self.printer.len() < MOST_PRINTED {
                self.put(BEL);
            }
            return;
        }
        let octet = if parity == 0 { octet } else { octet & 0x7f };
        let flows = self.of(Parameter::Flow) == 1;
        if flows && octet == X_OFF {
            self.printer.is_stopped = true;
            return;
        }
        if octet == X_ON && (flows || self.printer.is_paused) {
            self.printer.is_stopped = false;
            self.turn_page();
            return;
        }
        // A terminal that does not stop its output turns the page by any character.
        if self.printer.is_paused && !flows {
            return self.turn_page();
        }
        self.typed.push_back(octet);
    }

    fn turn_page(&mut self) {
        if self.printer.is_paused {
            self.printer.new_page();
            self.put(CR);
            self.put(LF);
        }
    }

    /// Says X-OFF to a terminal that has sent as much as there is room for, and X-ON when there is room again.
    pub(super) fn hold_off(&mut self, held: u64, cx: &mut Context<'_>) {
        let room = u64::from(self.config.room);
        let wanted = match self.of(Parameter::Device) {
            0 => false,
            1 => matches!(self.state, State::Transfer | State::Connecting),
            _ => true,
        };
        let Some(seat) = &mut self.seat else {
            return;
        };
        if wanted && !seat.is_held && held > room / 2 {
            seat.is_held = true;
            self.printer.urgent(X_OFF);
        } else if seat.is_held && (held <= room / 4 || !wanted) {
            seat.is_held = false;
            self.printer.urgent(X_ON);
        } else {
            return;
        }
        let _ = self.print(cx);
    }

    pub(super) fn of(&self, parameter: Parameter) -> u8 {
        self.parameters.of(parameter)
    }

    /// The character that leads to commands.
    fn recall(&self) -> Option<u8> {
        match self.of(Parameter::Recall) {
            0 => None,
            1 => Some(DLE),
            character => Some(character),
        }
    }

    /// Looks at what was typed, as far as there is room for what comes of it.
    pub(super) fn read_typed(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while self.state != State::Connecting
            && self.printer.len() < MOST_PRINTED
            && self.outgoing.len() < MOST_WAITING
            && let Some(octet) = self.typed.pop_front()
        {
            moved = true;
            match self.state {
                State::Transfer => self.on_character(octet, cx),
                State::Waiting | State::Command | State::Escaped | State::InCall => {
                    self.on_command_character(octet, cx);
                }
                State::Connecting => {}
            }
        }
        // While a call is made, the recall character gives it up, unless something was typed for the call before it.
        if self.state == State::Connecting
            && let Some(recall) = self.recall()
            && self.typed.front() == Some(&recall)
        {
            self.typed.clear();
            self.clear(diagnostic::NONE, cx);
            self.signal("CLR CONF");
            self.prompt();
        }
        let has_ended = self.seat.as_ref().is_some_and(|seat| seat.has_ended);
        if has_ended && self.typed.is_empty() {
            if self.state == State::Transfer && !self.data.is_empty() {
                self.forward(cx);
            }
            if matches!(self.state, State::Escaped | State::InCall) {
                self.drop_line();
                self.go(Event::Answered);
            }
            if self.state == State::Transfer && self.linger.deadline().is_none() {
                self.start_linger(cx);
            }
        }
        moved
    }

    /// The host has said something, or the terminal nothing more: silence is counted from here.
    pub(super) fn start_linger(&mut self, cx: &mut Context<'_>) {
        let has_ended = self.seat.as_ref().is_some_and(|seat| seat.has_ended);
        if let Some(time) = self.config.linger.filter(|_| has_ended) {
            let token = Token { session: Handle::default(), kind: timer::LINGER };
            cx.set_timer(&mut self.linger, token, cx.now() + time);
        }
    }

    // Data transfer.

    fn on_character(&mut self, octet: u8, cx: &mut Context<'_>) {
        if Some(octet) == self.recall() {
            self.forward(cx);
            self.go(Event::Recalled);
            return self.prompt();
        }
        self.on_data(octet, cx);
    }

    fn on_data(&mut self, octet: u8, cx: &mut Context<'_>) {
        let edits = self.of(Parameter::Edit) == 1;
        if edits && self.edit(octet, false) {
            return;
        }
        self.echo(octet);
        self.data.push(octet);
        if octet == CR && self.of(Parameter::LfInsertion) & 2 != 0 {
            self.data.push(LF);
        }
        let unit = self.call.as_ref().map_or(1, |call| call.unit);
        if self.data.len() >= unit || forwards(octet, self.of(Parameter::Forward)) {
            return self.forward(cx);
        }
        let idle = self.of(Parameter::Idle);
        if idle > 0 && !edits {
            let token = Token { session: Handle::default(), kind: timer::IDLE };
            let time = Duration::from_millis(u64::from(idle) * 50);
            cx.set_timer(&mut self.idle, token, cx.now() + time);
        }
    }

    /// What was typed leaves.
    pub(super) fn forward(&mut self, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.idle);
        let stands = self.call.as_ref().is_some_and(|it| it.provider.is_some());
        let data = core::mem::take(&mut self.data);
        if stands {
            let unit = self.call.as_ref().map_or(1, |call| call.unit);
            for packet in data.chunks(unit.max(1)) {
                self.queue(false, packet.to_vec());
            }
        }
    }

    /// A break; `escapes` where it may lead to commands (X.28 clause 4.11, parameter 7).
    pub(super) fn on_break(&mut self, escapes: bool, cx: &mut Context<'_>) {
        self.counters.breaks += 1;
        self.turn_page();
        match self.state {
            State::Waiting => {}
            State::Command | State::Escaped | State::InCall if escapes => {
                self.drop_line();
                self.go(Event::Answered);
            }
            State::Connecting => {
                self.clear(diagnostic::NONE, cx);
                self.signal("CLR CONF");
                self.prompt();
            }
            State::Command | State::Escaped | State::InCall | State::Transfer => {
                self.act_on_break(escapes, cx);
            }
        }
    }

    fn act_on_break(&mut self, escapes: bool, cx: &mut Context<'_>) {
        let actions = self.of(Parameter::Break);
        // Breaks take no credit: where too much waits for the network already, one more is not for it.
        if actions == 0 || self.provider().is_none() || self.outgoing.len() >= MOST_WAITING {
            return;
        }
        self.forward(cx);
        if actions & 1 != 0 {
            self.interrupt(cx);
        }
        if actions & 16 != 0 {
            self.parameters.put(Parameter::Discard, 1);
        }
        if actions & 4 != 0 {
            let discards = (actions & 16 != 0).then(|| Pair::new(Parameter::Discard.number(), 1));
            self.say(&PadMessage::Break(discards.into_iter().collect()));
        }
        if actions & 2 != 0 {
            self.reset(cx);
        }
        if actions & 8 != 0 && escapes {
            self.go(Event::Recalled);
            if self.printer.len() < MOST_PRINTED {
                self.prompt();
            }
        }
    }

    // Commands.

    fn on_command_character(&mut self, octet: u8, cx: &mut Context<'_>) {
        if self.state == State::Escaped && Some(octet) == self.recall() {
            // Typed twice it is data.
            self.go(Event::Answered);
            return self.on_data(octet, cx);
        }
        if matches!(octet, CR | b'+') {
            self.echo(octet);
            return self.end_line(cx);
        }
        if self.edit(octet, true) || !(0x20..0x7f).contains(&octet) {
            return;
        }
        self.go(Event::Character);
        if !is_secret(&self.line) {
            self.echo(octet);
        }
        if self.line.len() < MOST_LINE {
            self.line.push(octet);
        } else {
            self.is_long = true;
        }
    }

    /// The command in progress is none.
    pub(super) fn drop_line(&mut self) {
        self.line.clear();
        self.is_long = false;
    }

    fn end_line(&mut self, cx: &mut Context<'_>) {
        let line = core::mem::take(&mut self.line);
        let is_long = core::mem::take(&mut self.is_long);
        match command::parse(&line).filter(|_| !is_long) {
            Some(command) => self.act(command, cx),
            None => self.signal("ERR"),
        }
        self.go(Event::Answered);
        if self.state == State::Waiting {
            self.prompt();
        }
    }

    fn act(&mut self, command: Command, cx: &mut Context<'_>) {
        let stands = self.provider().is_some();
        match command {
            Command::Empty => {}
            Command::Status => self.signal(if stands { "ENGAGED" } else { "FREE" }),
            Command::Clear if stands => {
                self.clear(diagnostic::NONE, cx);
                self.signal("CLR CONF");
            }
            Command::Clear => self.signal("CLR ERR"),
            Command::Invite if stands => self.ask(&PadMessage::Invitation),
            Command::Reset if stands => {
                self.reset(cx);
                self.acknowledge();
            }
            Command::Interrupt if stands => {
                self.interrupt(cx);
                self.acknowledge();
            }
            Command::Break if stands => {
                self.on_break(false, cx);
                self.acknowledge();
            }
            Command::Read(numbers) => {
                let numbers = if numbers.is_empty() { Parameter::ALL.map(Parameter::number).to_vec() } else { numbers };
                self.tell(&numbers);
            }
            Command::Set(pairs) => {
                let wrong = self.set_own(&pairs);
                if wrong.is_empty() {
                    self.acknowledge();
                } else {
                    self.signal(&invalid(&wrong));
                }
            }
            Command::SetAndRead(pairs) => {
                let wrong = self.set_own(&pairs);
                let told = |&(number, _): &(u8, u8)| match self.parameters.read(number) {
                    Ok(value) if !wrong.contains(&number) => format!("{number}:{value}"),
                    Ok(_) | Err(_) => format!("{number}:INV"),
                };
                let told: Vec<String> = pairs.iter().map(told).collect();
                self.signal(&format!("PAR {}", told.join(", ")));
            }
            Command::Profile(number) => match Parameters::profile(number) {
                Some(profile) => {
                    self.own = profile;
                    self.parameters = profile;
                    self.acknowledge();
                }
                None => self.signal("ERR"),
            },
            Command::RemoteRead(numbers) if stands => {
                let pairs = numbers.iter().map(|number| Pair::new(*number, 0));
                self.ask(&PadMessage::Read(pairs.collect()));
            }
            Command::RemoteSet(pairs) if stands => {
                let pairs = pairs.iter().map(|&(number, value)| Pair::new(number, value));
                self.ask(&PadMessage::SetAndRead(pairs.collect()));
            }
            Command::Select(selection) if self.call.is_none() => self.select(*selection, cx),
            Command::Help => HELP.iter().for_each(|line| self.signal(line)),
            Command::Exit => {
                if self.call.is_some() {
                    self.clear(diagnostic::NONE, cx);
                    self.signal("CLR CONF");
                }
                self.leaves = true;
            }
            Command::Invite
            | Command::Reset
            | Command::Interrupt
            | Command::Break
            | Command::RemoteRead(_)
            | Command::RemoteSet(_)
            | Command::Select(_) => self.signal("ERR"),
        }
    }

    /// A message to the other end, of which a parameter indication may be the answer.
    fn ask(&mut self, message: &PadMessage) {
        self.say(message);
        if let Some(call) = &mut self.call {
            call.asks = !matches!(message, PadMessage::Invitation);
        }
        self.acknowledge();
    }

    /// Sets parameters for the terminal; gives the numbers of those that were not set.
    fn set_own(&mut self, pairs: &[(u8, u8)]) -> Vec<u8> {
        let mut wrong = Vec::new();
        for &(number, value) in pairs {
            if self.parameters.set(number, value).is_err() {
                wrong.push(number);
            } else {
                let _ = self.own.set(number, value);
            }
        }
        self.look_at_parameters();
        wrong
    }

    /// What cannot wait any more after parameters have changed.
    pub(super) fn look_at_parameters(&mut self) {
        if self.of(Parameter::Flow) == 0 {
            self.printer.is_stopped = false;
        }
        if self.of(Parameter::Page) == 0 {
            self.printer.new_page();
        }
    }

    fn tell(&mut self, numbers: &[u8]) {
        let told = |number: &u8| match self.parameters.read(*number) {
            Ok(value) => format!("{number}:{value}"),
            Err(_) => format!("{number}:INV"),
        };
        let told: Vec<String> = numbers.iter().map(told).collect();
        self.signal(&format!("PAR {}", told.join(", ")));
    }

    pub(super) fn select(&mut self, selection: Selection, cx: &mut Context<'_>) {
        let Selection { called, facilities, data } = selection;
        self.dial(called, facilities, &data, cx);
    }

    pub(super) fn dial(
        &mut self,
        called: kumiki_osi_service::x25::Number,
        facilities: Facilities,
        data: &[u8],
        cx: &mut Context<'_>,
    ) {
        let call = self.new_call();
        self.open_call(call, called, facilities, data, cx);
        self.go(Event::Selected);
    }

    // What is shown.

    /// The echo of one character, where parameters 2 and 20 want one.
    fn echo(&mut self, octet: u8) {
        let echo = self.of(Parameter::Echo);
        if echo == 0 || is_masked(octet, self.of(Parameter::EchoMask), &self.parameters) {
            return;
        }
        let is_graphic = (0x20..0x7f).contains(&octet) || octet >= 0x80;
        self.put(if echo >= 32 && is_graphic { echo } else { octet });
        if octet == CR && self.of(Parameter::LfInsertion) & 4 != 0 {
            self.put(LF);
        }
    }

    pub(super) fn put(&mut self, octet: u8) {
        self.printer.put(octet, &self.parameters);
    }

    fn text(&mut self, text: &[u8]) {
        for octet in text {
            self.put(*octet);
        }
    }

    /// A service signal, where parameter 6 wants them.
    pub(super) fn signal(&mut self, text: &str) {
        if self.of(Parameter::Signals) & 1 == 0 {
            return;
        }
        if !self.printer.is_fresh() {
            self.text(b"\r\n");
        }
        self.text(text.as_bytes());
        self.text(b"\r\n");
    }

    fn acknowledge(&mut self) {
        if self.of(Parameter::Signals) & 1 != 0 && !self.printer.is_fresh() {
            self.text(b"\r\n");
        }
    }

    /// The prompt, where parameter 6 wants it.
    pub(super) fn prompt(&mut self) {
        if self.of(Parameter::Signals) & 4 == 0 || self.leaves {
            return;
        }
        if !self.printer.is_fresh() {
            self.text(b"\r\n");
        }
        self.text(b"*");
    }

    // Editing.

    /// Whether a character edits the command (`true`) or the data in progress, and was dealt with.
    fn edit(&mut self, octet: u8, command: bool) -> bool {
        let is = |pad: &Self, parameter| {
            let character = pad.of(parameter);
            character > 0 && character == octet
        };
        let shows = if self.of(Parameter::Signals) & 1 == 0 { 0 } else { self.of(Parameter::EditSignals) };
        let buffer = if command { &mut self.line } else { &mut self.data };
        let len = buffer.len();
        if is(self, Parameter::CharacterDelete) {
            let buffer = if command { &mut self.line } else { &mut self.data };
            if buffer.pop().is_some() {
                match shows {
                    0 => {}
                    1 => self.text(b"\\"),
                    2 => self.text(b"\x08 \x08"),
                    character => self.put(character),
                }
            }
        } else if is(self, Parameter::LineDelete) {
            if command {
                self.drop_line();
            } else {
                self.data.clear();
            }
            match shows {
                0 => {}
                2 => (0..len).for_each(|_| self.text(b"\x08 \x08")),
                _ => {
                    // Three times X says that a line on paper does not count.
                    self.text(&[b'X'; 3]);
                    self.text(b"\r\n");
                }
            }
        } else if is(self, Parameter::LineDisplay) {
            let shown = if command { &self.line } else { &self.data };
            let shown = if command && has_secret(shown) { Vec::new() } else { shown.clone() };
            self.text(b"\r\n");
            self.text(&shown);
        } else {
            return false;
        }
        true
    }
}

fn invalid(numbers: &[u8]) -> String {
    let told: Vec<String> = numbers.iter().map(|it| format!("{it}:INV")).collect();
    format!("PAR {}", told.join(", "))
}

/// Whether what follows on a command line is not to be seen: a network user identification, and user data behind `P`.
///
/// What is hidden is what [`command::parse`] would read so, and a little more where the line is no command in the end.
fn is_secret(line: &[u8]) -> bool {
    let text: Vec<u8> = line.iter().filter(|octet| !matches!(octet, b' ' | 0x7f)).map(u8::to_ascii_uppercase).collect();
    let text = text.strip_prefix(b"CALL").or_else(|| text.strip_prefix(b"C")).unwrap_or(&text);
    let mut rest = text;
    if text.first().is_some_and(u8::is_ascii_alphabetic) {
        // The facilities reach to the first hyphen, whatever else it may be part of.
        let Some(hyphen) = text.iter().position(|octet| *octet == b'-') else {
            let in_progress = text.rsplit(|octet| *octet == b',').next();
            return in_progress.is_some_and(|it| it.first() == Some(&b'N'));
        };
        rest = text.get(hyphen + 1..).unwrap_or_default();
    }
    let behind = rest.iter().find(|octet| !octet.is_ascii_digit() && **octet != b'*');
    rest.first().is_some_and(u8::is_ascii_digit) && behind == Some(&b'P')
}

/// Whether anything on a command line was not to be seen.
fn has_secret(line: &[u8]) -> bool {
    (0..=line.len()).any(|end| line.get(..end).is_some_and(is_secret))
}

/// Whether parameter 3 has a character among those that send what was typed.
fn forwards(octet: u8, set: u8) -> bool {
    let bit = match octet {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => 1,
        CR => 2,
        // ESC, BEL, ENQ, ACK.
        0x1b | 0x07 | 0x05 | 0x06 => 4,
        // DEL, CAN, DC2.
        0x7f | 0x18 | 0x12 => 8,
        // ETX, EOT.
        0x03 | 0x04 => 16,
        // HT, LF, VT, FF.
        0x09..=0x0c => 32,
        0x00..=0x1f => 64,
        0x20..=0xff => 0,
    };
    set & bit != 0
}

/// Whether parameter 20 keeps a character from being shown.
fn is_masked(octet: u8, mask: u8, parameters: &Parameters) -> bool {
    let edits = [Parameter::CharacterDelete, Parameter::LineDelete, Parameter::LineDisplay];
    if mask & 64 != 0 && edits.iter().any(|it| parameters.of(*it) == octet && octet > 0) {
        return true;
    }
    let bit = match octet {
        CR => 1,
        LF => 2,
        // HT, VT, FF.
        0x09 | 0x0b | 0x0c => 4,
        // BEL, BS.
        0x07 | 0x08 => 8,
        // ESC, ENQ.
        0x1b | 0x05 => 16,
        // SOH, STX, ETX, EOT, ACK, NAK, ETB.
        0x01..=0x04 | 0x06 | 0x15 | 0x17 => 32,
        0x00..=0x1f | 0x7f => 128,
        0x20..=0xff => 0,
    };
    mask & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is echoed of a line.
    fn seen(line: &str) -> String {
        let line = line.as_bytes();
        let shown = |&at: &usize| !is_secret(&line[..at]);
        (0..line.len()).filter(shown).map(|at| char::from(line[at])).collect()
    }

    #[test]
    fn secrets_are_not_seen() {
        for (line, shown) in [
            ("12345Ppass-word,x", "12345P"),
            ("C 12345Psecret", "C 12345P"),
            ("call 12345*psecret", "call 12345*p"),
            ("NSECRET,R-12345", "NR-12345"),
            ("c nSECRET-12", "c n12"),
            ("R,N a b-12Px", "R,N12P"),
            ("R,G12-12345Dopen-P", "R,G12-12345Dopen-P"),
            ("PROF 90", "PROF 90"),
            ("INT", "INT"),
            ("par? 1,2", "par? 1,2"),
        ] {
            assert_eq!(seen(line), shown, "{line}");
            let hides = shown.len() < line.len();
            assert_eq!(has_secret(line.as_bytes()), hides, "{line}");
        }
    }
}
