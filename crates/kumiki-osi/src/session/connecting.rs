//! Beginning: CN and its overflow, AC, RF.

use kumiki_octets::NotGathered;
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::session::{Options, Reference, TokenSetting, Tokens, refusal};
use kumiki_wire::osi::session::{
    Connection as Cn, Enclosed, Enclosure, MOST_CONNECT_DATA, Refuse, Spdu, transport, version,
};

use super::*;

impl Session {
    /// The functional units of a proposal or an answer: the user's, or the configuration's, and only what is here.
    fn units(&self, asked: FunctionalUnits) -> FunctionalUnits {
        let wanted = if asked == FunctionalUnits::KERNEL { self.config.functional_units } else { asked };
        wanted.and(Config::ALL)
    }

    pub(super) fn send_cn(&mut self, own: Handle, cx: &mut Context<'_>) {
        let asked = self.connection(own).and_then(|it| it.association.as_deref());
        let options = asked.map(|it| it.session.clone()).unwrap_or_default();
        let units = self.units(options.functional_units);
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.units = units;
        let mut data = connection.data.take();
        let is_long = data.as_ref().is_some_and(|it| it.len() > MOST_CONNECT_DATA);
        if is_long && let Some(all) = &mut data {
            let first = all.split_to(MOST_CONNECT_DATA).unwrap_or_default();
            connection.data = data.replace(first);
        }
        let association = connection.association.as_deref();
        let spdu = Cn {
            reference: options.reference,
            initial: initial(units, options.initial_sync_point),
            tokens: setting(units, options.tokens),
            calling: association.and_then(|it| it.calling.session),
            called: association.and_then(|it| it.called.session),
            overflow: is_long,
            data: Enclosed { enclosure: None, data },
            ..Cn::new(units)
        };
        connection.called = Some(Box::new(Cn { data: Enclosed::default(), ..spdu.clone() }));
        self.wait(own, self.config.timeout, cx);
        self.send(own, Spdu::Connect(Box::new(spdu)), cx);
    }

    /// OA: the peer wants the rest of CN's data.
    pub(super) fn send_cdo(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let Some(mut rest) = connection.data.take() else {
            return self.error(own, "an OA SPDU without a reason for it", cx);
        };
        // A CDO's length has two octets; each takes what CN would.
        let mut begin = true;
        while !rest.is_empty() {
            let len = rest.len().min(MOST_CONNECT_DATA);
            let part = rest.split_to(len).unwrap_or_default();
            let end = rest.is_empty();
            let data = Enclosed { enclosure: Some(Enclosure { begin, end }), data: Some(part) };
            begin = false;
            self.send(own, Spdu::Overflow(data), cx);
        }
    }

    /// CN: the rest of its data is asked for, or the user is told of it.
    pub(super) fn on_cn(&mut self, own: Handle, cn: Box<Cn>, cx: &mut Context<'_>) {
        if cn.versions & version::TWO == 0 {
            return self.refuse(own, refusal::VERSION, None, cx);
        }
        let longest = self.config.max_connect as usize;
        let Some(connection) = self.connection(own) else {
            return;
        };
        let overflow = cn.overflow;
        let mut cn = cn;
        let data = cn.data.data.take().unwrap_or_default();
        connection.called = Some(cn);
        if !self.gather(own, data, longest, cx) {
            return;
        }
        if !overflow {
            return self.offer(own, cx);
        }
        if let Some(connection) = self.connection(own) {
            connection.ends.state = State::WaitOverflow;
        }
        let oa = Spdu::OverflowAccept { tsdu_maximum: None, version: version::TWO };
        self.wait(own, self.config.timeout, cx);
        self.send(own, oa, cx);
    }

    /// Takes user data of CN or CDO; false where the caller was refused for it.
    fn gather(&mut self, own: Handle, data: Message, longest: usize, cx: &mut Context<'_>) -> bool {
        let Some(connection) = self.connection(own) else {
            return false;
        };
        let taken = connection.gathered.push(data, cx.budget());
        let code = match taken {
            Err(NotGathered::Memory) => refusal::CONGESTION,
            Ok(_) if connection.gathered.len() <= longest => return true,
            Ok(_) | Err(NotGathered::Pieces) => refusal::RESTRICTION,
        };
        self.refuse(own, code, None, cx);
        false
    }

    pub(super) fn on_cdo(&mut self, own: Handle, data: Enclosed, cx: &mut Context<'_>) {
        let longest = self.config.max_connect as usize;
        let ends = data.ends();
        if !self.gather(own, data.data.unwrap_or_default(), longest, cx) {
            return;
        }
        if ends && let Some(connection) = self.connection(own) {
            connection.ends.state = State::WaitResponse;
            self.offer(own, cx);
        }
    }

    /// S-CONNECT indication.
    fn offer(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        cx.clear_timer(&mut connection.ends.timer);
        let mut called = Selectors::default();
        let below = connection.association.as_deref();
        called.transport = below.and_then(|it| it.called.transport);
        called.session = connection.called.as_deref().and_then(|it| it.called);
        let handle = self.entries.called(|wanted| wanted.fit(&called));
        let handle = handle.unwrap_or_default();
        let Some(listener) = self.entries.listener(handle) else {
            return self.refuse(own, refusal::SELECTOR_UNKNOWN, None, cx);
        };
        let (above, user) = (listener.above, listener.user);
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.ends.above = above;
        connection.ends.listener = handle;
        let mut association = connection.association.take().unwrap_or_default();
        if let Some(cn) = connection.called.as_deref() {
            association.called.session = cn.called;
            association.calling.session = cn.calling;
            association.session = Options {
                functional_units: cn.functional_units.and(Config::ALL),
                initial_sync_point: cn.initial,
                tokens: cn.tokens,
                reference: cn.reference.clone(),
            };
        }
        let offered = Offered {
            user,
            provider: own,
            local: connection.local,
            remote: connection.remote,
            parameters: association.into(),
            data: Some(connection.gathered.take()),
            ..Offered::default()
        };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// The user accepts: AC with what both have.
    pub(super) fn send_ac(&mut self, own: Handle, mut accept: Accept, cx: &mut Context<'_>) {
        let association = accept.parameters.take::<Association>();
        let options = association.as_deref().map(|it| it.session.clone()).unwrap_or_default();
        let ours = self.units(options.functional_units);
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.ends.user = accept.user;
        let Some(cn) = connection.called.take() else {
            return;
        };
        let units = common(cn.functional_units, ours);
        connection.units = units;
        let number = options.initial_sync_point.or(cn.initial).unwrap_or(1);
        connection.number_from(number);
        let setting = settled(cn.tokens, options.tokens);
        connection.tokens = connection.own(setting);
        connection.segment = segment(cn.tsdu_maximum.map(|(_, from)| from));
        connection.lift_limit(cx);
        let spdu = Cn {
            reference: answer(options.reference, cn.reference),
            tsdu_maximum: cn.tsdu_maximum,
            initial: initial(units, Some(number)),
            tokens: cn.tokens.map(|_| setting),
            calling: cn.calling,
            called: association.and_then(|it| it.calling.session).or(cn.called),
            data: Enclosed { enclosure: None, data: accept.data },
            ..Cn::new(units)
        };
        self.send(own, Spdu::Accept(Box::new(spdu)), cx);
    }

    /// S-CONNECT confirm.
    pub(super) fn on_ac(&mut self, own: Handle, ac: Cn, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        cx.clear_timer(&mut connection.ends.timer);
        let proposed = connection.called.take();
        let units = common(connection.units, ac.functional_units);
        let is_duplex = units.has(FunctionalUnits::DUPLEX) != units.has(FunctionalUnits::HALF_DUPLEX);
        // Without either there would be no data, and what we did not propose cannot be agreed on.
        if !is_duplex || ac.versions & version::TWO == 0 {
            return self.error(own, "an AC SPDU without duplex or half-duplex, or not of version 2", cx);
        }
        connection.units = units;
        connection.number_from(ac.initial.unwrap_or(1));
        let setting = settled(proposed.and_then(|it| it.tokens), ac.tokens);
        connection.tokens = connection.own(setting);
        connection.segment = segment(ac.tsdu_maximum.map(|(to, _)| to));
        connection.lift_limit(cx);
        let mut association = connection.association.take().unwrap_or_default();
        association.session = Options {
            functional_units: units,
            initial_sync_point: ac.initial,
            tokens: Some(setting),
            reference: ac.reference,
        };
        let opened = Opened {
            user: connection.ends.user,
            provider: own,
            local: connection.local,
            remote: connection.remote,
            unit: u32::MAX,
            parameters: association.into(),
            data: ac.data.data,
        };
        cx.up(connection.ends.above, Indication::Opened(Box::new(opened)));
        connection.flow(cx);
    }

    /// S-CONNECT confirm, refused.
    pub(super) fn on_rf(&mut self, own: Handle, rf: Refuse, cx: &mut Context<'_>) {
        let why = Reason::peer(OsiCause::SessionRefused(rf.reason));
        self.finish(own, Some((why, rf.data)), cx);
    }

    /// RF; the caller is to end the transport connection.
    pub(super) fn refuse(&mut self, own: Handle, reason: u8, data: Option<Message>, cx: &mut Context<'_>) {
        self.counters.refused += 1;
        self.refusal = Some(Reason::peer(OsiCause::SessionRefused(reason)));
        let Some(connection) = self.connection(own) else {
            return;
        };
        let cn = connection.called.take();
        let rf = Refuse {
            reference: cn.and_then(|it| it.reference),
            transport: Some(transport::RELEASE),
            functional_units: None,
            versions: Some(version::TWO),
            reason,
            enclosure: None,
            data,
        };
        self.last_word(own, Spdu::Refuse(rf), cx);
    }
}

/// What both have. Of duplex and half-duplex, which exclude each other, duplex where both have both.
fn common(a: FunctionalUnits, b: FunctionalUnits) -> FunctionalUnits {
    let both = a.and(b).and(Config::ALL);
    if both.has(FunctionalUnits::DUPLEX) { FunctionalUnits(both.0 & !FunctionalUnits::HALF_DUPLEX.0) } else { both }
}

/// The initial serial number, where there are points to be numbered.
fn initial(units: FunctionalUnits, asked: Option<u32>) -> Option<u32> {
    let numbered = FunctionalUnits::MINOR_SYNCHRONIZE.or(FunctionalUnits::RESYNCHRONIZE);
    (units.and(numbered) != FunctionalUnits::KERNEL).then(|| asked.unwrap_or(1))
}

/// The token setting, where there are tokens.
fn setting(units: FunctionalUnits, asked: Option<TokenSetting>) -> Option<TokenSetting> {
    (units.tokens() != Tokens::default()).then(|| asked.unwrap_or(TokenSetting::INITIATOR))
}

/// Who has which token: what the called user was asked to say, it says; by default the initiator has it.
fn settled(proposed: Option<TokenSetting>, answered: Option<TokenSetting>) -> TokenSetting {
    let proposed = proposed.unwrap_or(TokenSetting::INITIATOR);
    let undecided = proposed.undecided().0;
    let answer = answered.unwrap_or(TokenSetting::INITIATOR).with_responder().0;
    TokenSetting(proposed.with_responder().0 | answer & undecided)
}

/// The most user information in a DT, for a TSDU maximum; none where it is unlimited.
fn segment(maximum: Option<u16>) -> Option<usize> {
    // GT without parameters, and SI, LI and the enclosure item of DT.
    const HEADERS: usize = 2 + 2 + 3;
    let maximum = usize::from(maximum.filter(|maximum| *maximum > 0)?);
    Some(maximum.saturating_sub(HEADERS).max(1))
}

/// The reference that goes with AC: the caller's common part, and the user's own.
fn answer(own: Option<Reference>, called: Option<Reference>) -> Option<Reference> {
    match (own, called) {
        (Some(own), _) => Some(own),
        (None, called) => called,
    }
}
