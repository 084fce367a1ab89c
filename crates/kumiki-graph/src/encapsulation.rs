//! Layers whose PDU is a unit of a user behind a header, and perhaps before a trailer: the one node that they all are.
//!
//! Such a layer is an [`Encapsulation`]: it says how its header is written and read, for whom a unit is, and how much
//! room it leaves. All else is done here, alike for each of them: units go down and up and are counted, users ask and
//! are told what is carried.
//!
//! | a layer | asked for limits and a route | told by the layer below |
//! |---|---|---|
//! | with an [address](Encapsulation::own_address) | answers itself, as far as it knows what the layer below carries, and asks that | tells limits, up and down |
//! | without | [passes](Encapsulation::pass_down) the question down | tells limits, route, up and down |
//! | with [one user](Encapsulation::PASSES_UP) | - | hands that all else as well, credit too |

use core::any::Any;

use crate::{
    Above, Address, Below, Context, Handle, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, Unit,
    UnitIndication, UnitRequest,
};

const BELOW: Below = Below(0);

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Units sent.
    pub sent: u64,
    /// Units handed to a user.
    pub received: u64,
    /// Units not sent: without an address or a type that the header can have, or of a length that is not carried.
    pub refused: u64,
    /// PDUs dropped: no header, or not one that the protocol lets pass; too long.
    pub malformed: u64,
    /// PDUs dropped: for another station, or from another than the peer.
    pub other_station: u64,
    /// PDUs dropped: of a type that has no user.
    pub unknown_type: u64,
}

/// What can be carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// As in [`Report::Limits`].
    pub unit: u32,
    /// As in [`Report::Limits`].
    pub burst: u32,
}

impl Limits {
    /// What is left beside `header` octets.
    #[must_use]
    pub fn behind(self, header: usize) -> Self {
        Self { unit: self.unit.saturating_sub(u32::try_from(header).unwrap_or(u32::MAX)), ..self }
    }
}

/// What is kept for an [`Encapsulation`].
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// What happened.
    pub counters: Counters,
    /// What the layer below carries. As much as is wanted, until it says otherwise.
    pub below: Limits,
}

impl Default for State {
    fn default() -> Self {
        Self { counters: Counters::default(), below: Limits { unit: u32::MAX, burst: 1 } }
    }
}

/// Why no user gets a PDU, and under which of the [`Counters`] it falls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// [`Counters::malformed`].
    Malformed(&'static str),
    /// [`Counters::other_station`].
    OtherStation(&'static str),
    /// [`Counters::unknown_type`].
    UnknownType(&'static str),
    /// None: the layer has dealt with it.
    Done,
}

/// Whose a unit is that has come, without its header; or why it is nobody's.
pub type Parsed = Result<(Above, Box<Unit>), Dropped>;

/// A header in front. It makes its layer a [`Protocol`] for unit data, on one layer below.
///
/// `emit` and `parse` are called in one place, for each unit: where they are `#[inline]`, that place has them without a
/// call.
pub trait Encapsulation: Any + Send {
    /// [`Shape::keys`].
    const KEYS: &'static [Key] = &[Key::Only];
    /// [`Shape::needs`].
    const NEEDS: &'static [Service] = &[Service::UNIT_DATA, Service::FRAME];
    /// Whether it has one user, and credit and reports of whatever kind are for that.
    const PASSES_UP: bool = false;
    /// Whether some units go through by [`Encapsulation::emit_through`] and [`Encapsulation::parse_through`]: see
    /// [`Protocol::is_on_paths`].
    const ON_PATHS: bool = false;

    /// What is kept here.
    fn state(&mut self) -> &mut State;

    /// As [`Protocol::bind`].
    ///
    /// # Errors
    /// Says in words why there cannot be such a user.
    fn admit(&mut self, user: Above, keys: &[Key]) -> Result<(), String>;

    /// Puts the header in front of a unit of this user's.
    ///
    /// # Errors
    /// Why it is not sent.
    fn emit(&mut self, from: Above, unit: Box<Unit>, cx: &mut Context<'_>) -> Result<Box<Unit>, &'static str>;

    /// Takes the header off, and says for whom the rest is.
    ///
    /// # Errors
    /// Why it is for nobody.
    fn parse(&mut self, pdu: Box<Unit>, cx: &mut Context<'_>) -> Parsed;

    /// Does what [`Encapsulation::emit`] does, for a unit that needs no more than a header; false where it is left as
    /// it was.
    #[inline]
    fn emit_through(&mut self, from: Above, unit: &mut Unit) -> bool {
        let _ = (from, unit);
        false
    }

    /// Does what [`Encapsulation::parse`] does, for a PDU of which no more than the header is to be taken off; `None`
    /// where it is left as it was.
    #[inline]
    fn parse_through(&mut self, pdu: &mut Unit) -> Option<Above> {
        let _ = pdu;
        None
    }

    /// What this user may hand down where the layer below carries `below`.
    fn limits(&self, user: Above, below: Limits) -> Limits;

    /// Our own address. A layer that has one answers itself what would be carried and from where.
    fn own_address(&self) -> Option<Address> {
        None
    }

    /// Whether the layer below is to answer this or to do it, where we have no address of our own.
    ///
    /// # Errors
    /// Why it is dropped.
    fn pass_down(manage: &Manage) -> Result<(), &'static str> {
        if matches!(manage, Manage::Limits | Manage::Route { .. }) { Ok(()) } else { Err("not a unit") }
    }
}

fn manage<E: Encapsulation>(layer: &mut E, from: Above, manage: Box<Manage>, cx: &mut Context<'_>) {
    let Some(source) = layer.own_address() else {
        return match E::pass_down(&manage) {
            Ok(()) => cx.down(BELOW, Request::Manage(manage)),
            Err(why) => cx.drop(why),
        };
    };
    let below = layer.state().below;
    let Limits { unit, burst } = layer.limits(from, below);
    if let Manage::Limits = *manage {
        cx.up(from, Indication::Report(Box::new(Report::Limits { unit, burst })));
        cx.down(BELOW, Request::Manage(manage));
    } else if let Manage::Route { to } = *manage {
        let route = Report::Route { to, source, unit, burst, bypass: None };
        cx.up(from, Indication::Report(Box::new(route)));
    } else if let Manage::Refuse { .. } = *manage {
        cx.drop("a station sends nothing back");
    }
}

/// Tells every user what the layer below has said, as it is for that user.
fn report<E: Encapsulation>(layer: &mut E, report: &Report, cx: &mut Context<'_>) {
    if let Report::Limits { unit, burst } = *report {
        layer.state().below = Limits { unit, burst };
    }
    for user in (0..cx.users()).map(Above) {
        let told = match *report {
            Report::Limits { unit, burst } => {
                let Limits { unit, burst } = layer.limits(user, Limits { unit, burst });
                Report::Limits { unit, burst }
            }
            // How we are addressed; who asked is not known.
            Report::Route { to, source, unit, burst, .. } if layer.own_address().is_none() => {
                let Limits { unit, burst } = layer.limits(user, Limits { unit, burst });
                Report::Route { to, source, unit, burst, bypass: None }
            }
            Report::Up | Report::Down => report.clone(),
            Report::Unreachable { .. } | Report::Special(_) if E::PASSES_UP => report.clone(),
            Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => return,
        };
        cx.up(user, Indication::Report(Box::new(told)));
    }
}

impl<E: Encapsulation> Protocol for E {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::UNIT_DATA), needs: E::NEEDS, below: (1, 1), keys: E::KEYS.to_vec() }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.admit(above, keys)
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => match self.emit(from, unit, cx) {
                Ok(pdu) => {
                    self.state().counters.sent += 1;
                    cx.down(BELOW, Request::Unit(pdu));
                }
                Err(why) => {
                    self.state().counters.refused += 1;
                    cx.drop(why);
                }
            },
            Some(UnitRequest::Manage(what)) => manage(self, from, what, cx),
            None => cx.drop("not a unit"),
        }
    }

    fn is_on_paths(&self) -> bool {
        E::ON_PATHS
    }

    fn push_through(&mut self, from: Above, unit: &mut Unit) -> Option<Below> {
        if !self.emit_through(from, unit) {
            return None;
        }
        self.state().counters.sent += 1;
        Some(BELOW)
    }

    fn pop_through(&mut self, _: Below, pdu: &mut Unit) -> Option<Above> {
        let user = self.parse_through(pdu)?;
        self.state().counters.received += 1;
        Some(user)
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(pdu)) => {
                let found = self.parse(pdu, cx);
                let counters = &mut self.state().counters;
                let (counter, why) = match found {
                    Ok((user, unit)) => {
                        counters.received += 1;
                        return cx.up(user, Indication::Unit(unit));
                    }
                    Err(Dropped::Malformed(why)) => (&mut counters.malformed, why),
                    Err(Dropped::OtherStation(why)) => (&mut counters.other_station, why),
                    Err(Dropped::UnknownType(why)) => (&mut counters.unknown_type, why),
                    Err(Dropped::Done) => return,
                };
                *counter += 1;
                cx.drop(why);
            }
            Some(UnitIndication::Report(what)) => report(self, &what, cx),
            Some(UnitIndication::Credit(credit)) if E::PASSES_UP => {
                cx.up(Above(0), Indication::Credit { session: Handle::default(), credit });
            }
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }
}
