//! Lines that other threads have carried out by the thread that can do so.

use core::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use kumiki_io::Bell;

use super::command::Command;

/// A command and where its answer goes.
#[derive(Debug)]
pub struct CommandRequest<C = Command> {
    /// The command.
    pub command: C,
    /// Whether the answer is to be JSON.
    pub json: bool,
    /// Gets the answer, empty where there is nothing to say but that it was done; or what is wrong.
    pub answer: Sender<Result<String, String>>,
}

/// Reads a line.
type LineParser<C> = dyn Fn(&str) -> Result<C, String> + Send + Sync;

/// Hands commands to whoever carries them out, from another thread.
pub struct CommandSender<C = Command> {
    commands: Sender<CommandRequest<C>>,
    bell: Bell,
    read: Arc<LineParser<C>>,
}

impl<C> Clone for CommandSender<C> {
    fn clone(&self) -> Self {
        Self { commands: self.commands.clone(), bell: self.bell.clone(), read: Arc::clone(&self.read) }
    }
}

impl<C> fmt::Debug for CommandSender<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSender").field("bell", &self.bell).finish_non_exhaustive()
    }
}

impl<C> CommandSender<C> {
    /// Of whoever takes them from the other end and is woken by `bell`; `read` makes them of lines.
    pub fn new(
        bell: Bell,
        read: impl Fn(&str) -> Result<C, String> + Send + Sync + 'static,
    ) -> (Self, Receiver<CommandRequest<C>>) {
        let (commands, asked) = channel();
        (Self { commands, bell, read: Arc::new(read) }, asked)
    }

    /// The same, where lines are read by `read`.
    #[must_use]
    pub(super) fn reading(self, read: impl Fn(&str) -> Result<C, String> + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), ..self }
    }

    /// Has `command` carried out, and waits for its answer; `None` where nobody is there to do it.
    #[must_use]
    pub fn ask(&self, command: C, json: bool) -> Option<Result<String, String>> {
        let (answer, answered) = channel();
        let asked = CommandRequest { command, json, answer };
        self.commands.send(asked).ok()?;
        self.bell.ring();
        answered.recv().ok()
    }

    /// The same of what a line says.
    #[must_use]
    pub fn ask_line(&self, line: &str, json: bool) -> Option<Result<String, String>> {
        match (self.read)(line) {
            Ok(command) => self.ask(command, json),
            Err(why) => Some(Err(why)),
        }
    }
}
