//! What is sent to other switches and when: RFC 2174 section 5.3.

use kumiki_graph::{Below, Context, Request, Unit};
use kumiki_octets::Message;
use kumiki_wire::ppp::mapos::ssp::{self, Entry, Metric};
use kumiki_wire::ppp::mapos::{Address, protocol};

use super::MaposSwitch;
use crate::sdh::frame::frame;

impl MaposSwitch {
    /// Hands a frame to the line of `port`.
    pub(super) fn transmit(port: usize, data: Message, cx: &mut Context<'_>) {
        let Ok(port) = u16::try_from(port) else {
            return;
        };
        cx.down(Below(port), Request::Unit(Box::new(Unit::of(data))));
    }

    /// Sends entries to the switch at `port`, in as many packets as they need.
    fn tell(&self, port: usize, command: ssp::Command, entries: &[Entry], cx: &mut Context<'_>) {
        let to = Address::local_control(self.config.subnet.width());
        for entries in entries.chunks(ssp::MAX_ENTRIES) {
            let mut octets = vec![0; ssp::LEN + entries.len() * ssp::ENTRY_LEN];
            let (header, behind) = octets.split_at_mut(ssp::LEN);
            ssp::Header { command }.emit(header);
            for (entry, out) in entries.iter().zip(behind.chunks_exact_mut(ssp::ENTRY_LEN)) {
                entry.emit(out);
            }
            let data = frame(to, protocol::SSP, Message::from_octets(&octets));
            Self::transmit(port, data, cx);
        }
    }

    /// The ports at which SSP is spoken.
    fn to_switches(&self) -> Vec<usize> {
        let ports = self.ports.iter().enumerate();
        let ports = ports.filter(|(_, port)| port.leads_to_switch());
        ports.map(|(port, _)| port).collect()
    }

    /// (1) Asks the switch at `port` for its whole table.
    pub(super) fn ask(&self, port: usize, cx: &mut Context<'_>) {
        self.tell(port, ssp::Command::Request, &[Entry::WHOLE_TABLE], cx);
    }

    /// Answers a request for the whole table, unless one was just answered.
    pub(super) fn answer(&mut self, port: usize, cx: &mut Context<'_>) {
        let now = cx.now();
        let interval = self.config.timers.triggered;
        let Some(state) = self.ports.get_mut(port) else {
            return;
        };
        if now < state.answers {
            self.counters.ssp_refused += 1;
            cx.drop("asked for the table too often");
            return;
        }
        state.answers = now + interval;
        let entries = self.table.entries(port, true);
        self.tell(port, ssp::Command::Response, &entries, cx);
    }

    /// (2) Tells all neighbours everything.
    pub(super) fn update(&mut self, cx: &mut Context<'_>) {
        self.counters.updates += 1;
        self.next_update = cx.now() + self.config.timers.full_update;
        self.send_all(true, cx);
    }

    /// (3) Tells all neighbours what has changed, if something has and the last time is long enough ago.
    pub(super) fn trigger(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if now < self.next_trigger || !self.table.any_changed() {
            return;
        }
        self.counters.triggered += 1;
        self.next_trigger = now + self.config.timers.triggered;
        self.send_all(false, cx);
    }

    fn send_all(&mut self, all: bool, cx: &mut Context<'_>) {
        for port in self.to_switches() {
            let entries = self.table.entries(port, all);
            self.tell(port, ssp::Command::Response, &entries, cx);
        }
        self.table.all_told();
    }

    /// (4) Says that nothing can be reached this way any more.
    pub(super) fn say_goodbye(&self, cx: &mut Context<'_>) {
        for port in self.to_switches() {
            let mut entries = self.table.entries(port, true);
            for entry in &mut entries {
                entry.metric = Metric::UNREACHABLE;
            }
            self.tell(port, ssp::Command::Response, &entries, cx);
        }
    }
}
