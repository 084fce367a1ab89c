//! What a script is held against.

use kumiki_graph::Instant;

use super::notation::{Call, Connection, ProgramEvent, StackView};

/// A stack with a program above it, and its time.
pub(super) trait Subject {
    /// Lets time pass to `until`.
    ///
    /// # Errors
    /// Says what the machine refused.
    fn run_until(&mut self, until: Instant) -> Result<(), String>;

    /// The next packet from the stack and when it came; waits for one to `until`.
    ///
    /// # Errors
    /// Says what the machine refused.
    fn next_packet(&mut self, until: Instant) -> Result<Option<(Instant, Vec<u8>)>, String>;

    /// A packet arrives at the stack.
    ///
    /// # Errors
    /// Says what the machine refused.
    fn inject(&mut self, packet: &[u8]) -> Result<(), String>;

    /// The program does something.
    ///
    /// # Errors
    /// Says why it cannot.
    fn call(&mut self, connection: Connection, call: Call) -> Result<(), String>;

    /// Whether the program has heard this, not before `from` nor after `until`; waits for it to `until`.
    ///
    /// # Errors
    /// Says what it heard instead.
    fn hears(
        &mut self,
        connection: Connection,
        hear: ProgramEvent,
        from: Instant,
        until: Instant,
    ) -> Result<(), String>;

    /// Whether the stack's state is this at `now`; yes where it does not show.
    ///
    /// # Errors
    /// Says what it is.
    fn sees(&mut self, connection: Connection, see: StackView, now: Instant) -> Result<(), String>;

    /// What is known of a connection is forgotten.
    fn forget(&mut self, connection: Connection);

    /// A connection that ended though no line says so, or data that is not what was sent.
    fn mishap(&mut self) -> Option<String>;
}
