//! A line between two ends of OSI's upper layers that a test cuts.

use kumiki_graph::{Above, Below, Context, Handle, Indication, Mode, Protocol, Reason, Request, Service, Shape};

use kumiki_osi::entries::{abort_below, tell_aborted};

/// A line that is cut, for all who are on it, each time that so many messages have gone over it.
#[derive(Default)]
pub(crate) struct BreakingLine {
    /// Behind which messages it has yet to be cut.
    pub(crate) after: Vec<usize>,
    /// How many have gone over it.
    pub(crate) gone: usize,
    /// Connections: the user's handle and the provider's, and whether it was called.
    ends: Vec<(Handle, Handle, bool)>,
    /// Who was called hears nothing of it.
    silent: bool,
    hushed: Vec<Handle>,
    /// Who listens, which goes on.
    listener: Handle,
}

impl BreakingLine {
    /// One that is cut behind these messages of all; who was called hears nothing of it if it is `silent`.
    pub(crate) fn behind(after: Vec<usize>, silent: bool) -> Self {
        Self { after, silent, ..Self::default() }
    }
}

impl Protocol for BreakingLine {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        if let Request::Accept(accept) = &request {
            self.ends.push((accept.user, accept.session, true));
        }
        if let Request::Open(open) = &request
            && matches!(open.mode, Mode::Passive { .. })
        {
            self.listener = open.user;
        }
        let is_data = matches!(request, Request::Data { .. });
        cx.down(Below(0), request);
        self.gone += usize::from(is_data);
        if is_data && self.after.first() == Some(&self.gone) {
            self.after.remove(0);
            for (user, provider, called) in core::mem::take(&mut self.ends) {
                if called && self.silent {
                    self.hushed.push(user);
                    continue;
                }
                abort_below(Below(0), provider, Reason::Down, None, cx);
                tell_aborted(Above(0), user, Reason::Down, None, cx);
            }
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Opened(opened) = &indication
            && opened.user != self.listener
        {
            self.ends.push((opened.user, opened.provider, false));
        }
        if let Indication::Aborted { session, .. } = &indication
            && self.hushed.contains(session)
        {
            return;
        }
        cx.up(Above(0), indication);
    }
}
