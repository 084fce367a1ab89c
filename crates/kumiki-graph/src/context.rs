//! What a protocol can see and do while it handles one input.

use kumiki_octets::{Account, Lease, Message};

use crate::assembly::{Core, EdgeEnd, End};
use crate::graph::NodeId;
use crate::ledger::{Holder, Ledger};
use crate::timers::TimerId;
use crate::under_way::Hop;
use crate::{Above, AccessPoint, Below, Duration, Indication, Instant, Request, Rng, Token, Work};

/// One of a host's memories.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pool {
    /// For content on its way out.
    Send,
    /// For content that has come in.
    Receive,
}

/// No cluster is free; [`crate::Protocol::ready`] will be called when one may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MustWait;

/// Where a session keeps a timer of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimerSlot(Option<(TimerId, Instant)>);

impl TimerSlot {
    /// When the timer in this slot was last set to expire. It may have expired since.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        match self.0 {
            Some((_, deadline)) => Some(deadline),
            None => None,
        }
    }
}

/// The graph, as the node that is handling an input sees it.
///
/// What a node does it does by its context. This one sends back what comes, and counts what it cannot send:
///
/// ```
/// use kumiki_graph::{Above, Below, Context, Graph, Indication, Instant, Protocol, Request, Service, Shape, Unit};
/// use kumiki_octets::Message;
///
/// struct Mirror;
///
/// impl Protocol for Mirror {
///     fn shape(&self) -> Shape {
///         Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
///     }
///
///     fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
///         match indication {
///             Indication::Unit(unit) if !unit.data.is_empty() => cx.down(from, Request::Unit(unit)),
///             Indication::Unit(_) => cx.drop("nothing in it"),
///             _ => {}
///         }
///     }
///
///     fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
/// }
///
/// let mut graph = Graph::new(1, 0);
/// let line = graph.add_device("line", Service::FRAME)?;
/// let task = graph.add_task("cpu");
/// graph.add_node("mirror", task, Box::new(Mirror))?;
/// graph.connect("mirror", "line")?;
/// graph.start(Instant::ZERO)?;
///
/// let frame = Unit::of(Message::from_octets(b"hello"));
/// graph.input(Instant::ZERO, line, Indication::Unit(Box::new(frame)));
/// graph.run(task, Instant::ZERO, 16);
/// let Some(Request::Unit(back)) = graph.output().map(|output| output.request) else { panic!("it comes back") };
/// assert_eq!(back.data.to_vec(), b"hello");
/// # Ok::<(), kumiki_graph::GraphError>(())
/// ```
pub struct Context<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) node: NodeId,
}

impl Context<'_> {
    /// The time: when the batch began, and on a modelled host what the work since has taken.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.core.now()
    }

    /// This node's random numbers.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.info().rng
    }

    #[expect(clippy::indexing_slicing, reason = "the graph makes a context only for a node that it has")]
    pub(crate) fn info(&mut self) -> &mut crate::assembly::Node {
        &mut self.core.nodes[self.node.index()]
    }

    /// Hands `indication` to the user `to`. Counted as a drop where there is no such user.
    pub fn up(&mut self, to: Above, indication: Indication) {
        let info = self.info();
        let way = info.above.get(usize::from(to.0)).copied();
        if info.priced {
            self.charge_for(Work::Deliver, indication.message());
        }
        let Some(EdgeEnd { edge, within, to: End::Node { node, port } }) = way else {
            self.drop("no such user");
            return;
        };
        let record = self.core.tap_up(edge, &indication);
        self.core.hand_up((Hop::up(node, port), within), record, indication);
    }

    /// Hands `request` to the layer `to` below. Counted as a drop where there is no such layer.
    pub fn down(&mut self, to: Below, request: Request) {
        let way = self.info().below.get(usize::from(to.0)).copied();
        self.cross(way, request);
    }

    /// Hands `request` to the layer below the access point that a [`Report::Route`](crate::Report::Route) named as its
    /// bypass, as though the layer above that access point had done so. Counted as a drop where there is no such access
    /// point.
    pub fn down_past(&mut self, to: AccessPoint, request: Request) {
        let edge = self.core.edges.get(to.0 as usize);
        let (edge, lower) = (to.0, edge.map(|edge| edge.lower));
        let way = lower.map(|to| EdgeEnd { edge, within: self.core.is_within(self.node, to), to });
        self.cross(way, request);
    }

    /// The access point under which this node stands on `below`: what a layer that steps out of the path names as its
    /// bypass.
    pub fn access_point(&mut self, below: Below) -> Option<AccessPoint> {
        let way = self.info().below.get(usize::from(below.0))?;
        Some(AccessPoint(way.edge))
    }

    fn cross(&mut self, way: Option<EdgeEnd>, request: Request) {
        if self.info().priced {
            self.charge_for(Work::Send, request.message());
        }
        let Some(EdgeEnd { edge, within, to }) = way else {
            self.drop("no layer below");
            return;
        };
        let record = self.core.tap_down(edge, &request);
        match to {
            End::Node { node, port } => self.core.hand_down((Hop::down(node, port), within), record, request),
            End::Device(device) => self.core.hand_out(device, request),
        }
    }

    /// Sets the timer in `slot` to expire at `deadline` with `token`, in place of what it was set to.
    pub fn set_timer(&mut self, slot: &mut TimerSlot, token: Token, deadline: Instant) {
        self.clear_timer(slot);
        slot.0 = Some((self.core.timers.arm(deadline, (self.node, token)), deadline));
    }

    /// Disarms the timer in `slot`, if it is armed. It does not expire after this, not even if its deadline has passed.
    pub fn clear_timer(&mut self, slot: &mut TimerSlot) {
        if let Some((id, _)) = slot.0.take() {
            self.core.timers.disarm(id);
        }
    }

    /// Does one unit of `work` on `message`, if there is one. Nothing is counted by it: of use only where work has a
    /// price.
    #[cold]
    fn charge_for(&mut self, work: Work, message: Option<&Message>) {
        if message.is_none() {
            return;
        }
        // What is handed on has its own length, not that of what led to it.
        let free = self.core.is_free(message);
        let exempt = core::mem::replace(&mut self.core.exempt, free);
        self.charge(work, 1);
        self.core.exempt = exempt;
    }

    /// Does `amount` units of `work`: counts them, and lets their price pass.
    pub fn charge(&mut self, work: Work, amount: u64) {
        let exempt = self.core.exempt;
        let info = self.info();
        match work {
            Work::Copy => info.account.copied += amount,
            Work::Sum => info.account.summed += amount,
            Work::Call => info.account.calls += amount,
            Work::Push | Work::Pop | Work::Expire | Work::Send | Work::Deliver | Work::Octet => {}
            Work::Wake => info.account.wakes += amount,
            Work::Switch => info.account.switches += amount,
            Work::Map => info.account.mapped += amount,
        }
        if info.priced && !exempt {
            let price = info.prices.of(work);
            let spent = price.saturating_mul(amount);
            info.busy_ps = info.busy_ps.saturating_add(spent);
            self.core.spent_ps = self.core.spent_ps.saturating_add(spent);
        }
    }

    /// Lets `time` pass in which this node is busy.
    pub fn spend(&mut self, time: Duration) {
        let spent = time.as_nanos().saturating_mul(1_000);
        let info = self.info();
        info.busy_ps = info.busy_ps.saturating_add(spent);
        self.core.spent_ps = self.core.spent_ps.saturating_add(spent);
    }

    /// Counts a message that is thrown away, and why.
    pub fn drop(&mut self, reason: &'static str) {
        *self.info().account.drops.entry(reason).or_default() += 1;
        self.core.note_drop(reason);
    }

    /// Takes a cluster of the host's memory for content about to be written.
    ///
    /// `Ok(None)` where the host's memory is not modelled.
    ///
    /// # Errors
    /// [`MustWait`] where none is free; `ready(token)` comes when one may be.
    pub fn lease(&mut self, pool: Pool, token: Token) -> Result<Option<Lease>, MustWait> {
        let Some(memory) = self.core.memory(pool) else {
            return Ok(None);
        };
        if let Some(lease) = memory.ledger.lease(holder(self.node, token)) {
            return Ok(Some(lease));
        }
        memory.waiting.push_back((self.node, token));
        Err(MustWait)
    }

    /// The host's memory, where it is modelled.
    pub fn ledger(&mut self, pool: Pool) -> Option<&mut Ledger> {
        self.core.memory(pool).map(|memory| &mut memory.ledger)
    }

    /// From which account is claimed what a peer makes a layer keep, where memory is bounded
    /// ([`crate::Graph::set_budget`]).
    #[must_use]
    pub const fn budget(&self) -> Option<&Account> {
        self.core.budget.as_ref()
    }

    /// How many users are connected above.
    pub fn users(&mut self) -> u16 {
        u16::try_from(self.info().above.len()).unwrap_or(u16::MAX)
    }
}

/// Clusters are held by a node's sessions.
pub(crate) const fn holder(node: NodeId, token: Token) -> Holder {
    Holder((node.0 as u64) << 32 | token.session.index as u64)
}
