//! What comes from transport.

use kumiki_osi_service::layer;
use kumiki_wire::osi::session::{Spdu, parse};

use super::*;

impl Session {
    /// A transport connection is taken from whoever makes one, for only its CN says what the caller wants.
    pub(super) fn transport_offered(&mut self, mut offered: Offered, cx: &mut Context<'_>) {
        let listens = self.entries.get(offered.user).is_some();
        if !listens || self.is_full() {
            self.counters.refused += 1;
            let reason = if listens { Reason::NoResources } else { Reason::BadAddress };
            return abort_below(TRANSPORT, offered.provider, reason, None, cx);
        }
        let mut connection = Connection::new(Ends::new(Above(0), Handle::default(), State::WaitConnect), false);
        connection.ends.lower = offered.provider;
        connection.local = offered.local;
        connection.remote = offered.remote;
        connection.association = offered.parameters.take();
        let own = self.entries.keep(connection);
        let accept = Accept { session: offered.provider, user: own, ..Accept::default() };
        cx.down(TRANSPORT, Request::Accept(Box::new(accept)));
        self.wait(own, self.config.timeout, cx);
    }

    /// A TSDU: one SPDU, or some that are concatenated.
    pub(super) fn came(&mut self, own: Handle, tsdu: Message, cx: &mut Context<'_>) {
        if self.connection(own).is_none() {
            return cx.drop("a TSDU of no connection");
        }
        // A peer that still sends has not fallen silent.
        let waits = |it: &Connection| matches!(it.ends.state, State::WaitDisconnect | State::WaitResyncAck);
        if self.connection(own).is_some_and(|it| waits(it)) {
            self.wait(own, self.config.timeout, cx);
        }
        // What is not the user's to take is granted again at once.
        let mut users = false;
        let beginning = tsdu.beginning_up_to(SHOWN);
        match parse(tsdu) {
            Ok(spdus) => {
                for spdu in spdus {
                    users |= self.spdu(own, spdu, &beginning, cx);
                }
            }
            Err(why) => {
                let why = Reason::violation_in(layer::SESSION, why.to_string(), beginning);
                self.on(own, Event::Invalid, Input::why(why), cx);
            }
        }
        if !users && let Some(connection) = self.connection(own) {
            connection.owed += 1;
            connection.flow(cx);
        }
    }

    /// One SPDU; true where it was data that the user takes by credit.
    fn spdu(&mut self, own: Handle, spdu: Spdu, tsdu: &Beginning, cx: &mut Context<'_>) -> bool {
        let event = match &spdu {
            Spdu::Connect(_) => Event::Cn,
            Spdu::Overflow(_) => Event::Cdo,
            Spdu::OverflowAccept { .. } => Event::Oa,
            Spdu::Accept(_) => Event::Ac,
            Spdu::Refuse(_) => Event::Rf,
            Spdu::Finish(_) => Event::Fn,
            Spdu::Disconnect(_) => Event::Dn,
            Spdu::Abort(_) => Event::Ab,
            Spdu::AbortAccept => Event::Aa,
            Spdu::Data(_) => Event::Dt,
            Spdu::TypedData(_) => Event::Td,
            Spdu::GiveTokens { .. } => Event::Gt,
            Spdu::PleaseTokens { .. } => Event::Pt,
            Spdu::MinorSync(_) => Event::Mip,
            Spdu::MinorSyncAck { .. } => Event::Mia,
            Spdu::Resync(_) => Event::Rs,
            Spdu::ResyncAck(_) => Event::Ra,
            Spdu::Prepare(_) => Event::Pr,
            // Of functional units that are not here.
            Spdu::NotFinished(_)
            | Spdu::Expedited(_)
            | Spdu::GiveTokensConfirm(_)
            | Spdu::GiveTokensAck
            | Spdu::MajorSync(_)
            | Spdu::MajorSyncAck { .. }
            | Spdu::ExceptionReport { .. }
            | Spdu::ExceptionData { .. }
            | Spdu::Other { .. } => Event::Invalid,
        };
        let event = match self.connection(own) {
            Some(connection) if agreed(connection, event) && !is_part(&spdu) => event,
            Some(_) => Event::Invalid,
            None => return false,
        };
        let input = Input { pdu: Some(spdu), beginning: tsdu.clone(), ..Input::default() };
        let received = self.counters.received;
        self.on(own, event, input, cx);
        self.counters.received > received
    }
}

/// What is shown of a TSDU, and what AB may reflect of it: what follows may be a user's.
const SHOWN: usize = 9;

/// Whether it is a part of an SPDU that nobody here puts together: its user data would be cut off without a word.
pub(super) fn is_part(spdu: &Spdu) -> bool {
    match spdu {
        Spdu::Connect(it) | Spdu::Accept(it) => !it.data.ends(),
        Spdu::Finish(it) => !it.data.ends(),
        Spdu::MinorSync(it) | Spdu::MajorSync(it) => !it.data.ends(),
        Spdu::Resync(it) => !it.data.ends(),
        Spdu::ResyncAck(it) => !it.data.ends(),
        Spdu::Disconnect(data)
        | Spdu::GiveTokens { data, .. }
        | Spdu::PleaseTokens { data, .. }
        | Spdu::MinorSyncAck { data, .. } => !data.ends(),
        // Data is put together, and of a last word the first part is enough.
        Spdu::Data(_)
        | Spdu::TypedData(_)
        | Spdu::Overflow(_)
        | Spdu::Refuse(_)
        | Spdu::Abort(_)
        | Spdu::AbortAccept
        | Spdu::OverflowAccept { .. }
        | Spdu::NotFinished(_)
        | Spdu::Expedited(_)
        | Spdu::GiveTokensConfirm(_)
        | Spdu::GiveTokensAck
        | Spdu::MajorSyncAck { .. }
        | Spdu::Prepare(_)
        | Spdu::ExceptionReport { .. }
        | Spdu::ExceptionData { .. }
        | Spdu::Other { .. } => false,
    }
}

/// Whether an SPDU is of a functional unit that is in use. Before there are any, the state says what may come.
fn agreed(connection: &Connection, event: Event) -> bool {
    let needed = match event {
        Event::Td => FunctionalUnits::TYPED_DATA,
        Event::Mip | Event::Mia => FunctionalUnits::MINOR_SYNCHRONIZE,
        Event::Rs | Event::Ra => FunctionalUnits::RESYNCHRONIZE,
        Event::TConCnf
        | Event::TDisInd
        | Event::Cn
        | Event::Oa
        | Event::Cdo
        | Event::Ac
        | Event::Rf
        | Event::Fn
        | Event::Dn
        | Event::Ab
        | Event::Aa
        | Event::Dt
        | Event::Gt
        | Event::Pt
        | Event::Pr
        | Event::Invalid
        | Event::SConRspAccept
        | Event::SConRspRefuse
        | Event::SDataReq
        | Event::STypedReq
        | Event::SRelReq
        | Event::SRelRsp
        | Event::SUAbReq
        | Event::STokenReq
        | Event::SSyncMinorReq
        | Event::SSyncMinorRsp
        | Event::SResyncReq
        | Event::SResyncRsp
        | Event::Timer => return true,
    };
    connection.units.has(needed)
}
