//! How a graph is put together: tasks, nodes and devices are added, and layers put on each other.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{DeviceId, Graph, NodeId, Ports, TaskId};
use crate::assembly::{Device, Edge, EdgeEnd, End, Input, Layer, Node, PendingInput, Task};
use crate::graph_error::GraphError;
use crate::under_way::Hop;
use crate::{Above, AccessPoint, Account, Below, Instant, Key, Prices, Protocol, Rng, Service, Shape};

/// The number of what is added to so many others.
fn number(others: usize) -> Result<u32, GraphError> {
    u32::try_from(others).map_err(|_| GraphError::TooMany)
}

impl Graph {
    /// Adds a task.
    pub fn add_task(&mut self, name: &str) -> TaskId {
        self.core.tasks.push(Task { inbox: VecDeque::new(), rest_ps: 0, name: name.to_owned() });
        TaskId(self.core.tasks.len() - 1)
    }

    /// Adds a node that runs in `task`.
    ///
    /// # Errors
    /// [`GraphError::Twice`] where the name is taken, [`GraphError::TooMany`] where there is no number left.
    pub fn add_node(&mut self, name: &str, task: TaskId, protocol: Box<dyn Protocol>) -> Result<NodeId, GraphError> {
        self.check_name(name)?;
        let number = number(self.protocols.len())?;
        let on_paths = protocol.is_on_paths();
        self.protocols.push(protocol);
        self.core.nodes.push(Node {
            task,
            busy_ps: 0,
            touched: false,
            priced: false,
            on_paths,
            above: SmallVec::new(),
            below: SmallVec::new(),
            account: Account::default(),
            prices: Prices::default(),
            name: name.to_owned(),
            stands_on: Vec::new(),
            rng: Rng::named(self.seed, self.stream, name),
        });
        Ok(NodeId(number))
    }

    /// Adds a device that speaks `service`.
    ///
    /// # Errors
    /// [`GraphError::Twice`] where the name is taken.
    pub fn add_device(&mut self, name: &str, service: Service) -> Result<DeviceId, GraphError> {
        self.check_name(name)?;
        self.core.devices.push(Device { above: SmallVec::new(), service, name: name.to_owned() });
        Ok(DeviceId(self.core.devices.len() - 1))
    }

    /// All nodes with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.core.nodes)
    }

    fn check_name(&self, name: &str) -> Result<(), GraphError> {
        let taken = self.core.nodes.iter().any(|node| node.name == name)
            || self.core.devices.iter().any(|device| device.name == name);
        if taken { Err(GraphError::Twice(name.to_owned())) } else { Ok(()) }
    }

    /// The node called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let mut all = self.numbered();
        all.find_map(|(id, node)| (node.name == name).then_some(id))
    }

    /// Puts the node `upper` on top of the node or device `lower`.
    ///
    /// What comes back is the access point between them. A layer that [passes its users
    /// through](Protocol::passes_users_through) gets one on each layer that it stands on for each of its users, and one
    /// of its own, which comes back, only where it has keys.
    ///
    /// # Errors
    /// A [`GraphError`] where there is no such layer, or the two do not fit. They are not joined then; after a
    /// [`GraphError::Refused`] one of them may think that they are, so build the graph again.
    pub fn connect(&mut self, upper: &str, lower: &str) -> Result<Option<AccessPoint>, GraphError> {
        let unknown = |name: &str| GraphError::Unknown(name.to_owned());
        let above = self.node(upper).ok_or_else(|| unknown(upper))?;
        let below = self.layer(lower).ok_or_else(|| unknown(lower))?;
        let shape = self.shape(above);
        self.check_service(upper, &shape, lower, below)?;
        if let Layer::Node(node) = below
            && self.stands_on(node, above)
        {
            return Err(GraphError::Circle { upper: upper.to_owned(), lower: lower.to_owned() });
        }
        let passes = self.passes_users_through(above);
        if passes && matches!(below, Layer::Device(_)) {
            return Err(GraphError::Refused {
                upper: upper.to_owned(),
                lower: lower.to_owned(),
                why: "a device does not tell users apart; put a layer between that does".to_owned(),
            });
        }
        let own = if passes && shape.keys.is_empty() { None } else { Some(self.join(above, below, shape.keys)?) };
        if let Some(node) = self.core.nodes.get_mut(above.index()) {
            node.stands_on.push(below);
        }
        if passes {
            for keys in self.keys_of_users(above) {
                self.join(above, below, keys)?;
            }
        }
        Ok(own)
    }

    /// The node or device called `name`.
    fn layer(&self, name: &str) -> Option<Layer> {
        let node = self.node(name).map(Layer::Node);
        node.or_else(|| {
            let mut devices = self.core.devices.iter();
            let device = devices.position(|device| device.name == name)?;
            Some(Layer::Device(DeviceId(device)))
        })
    }

    fn name(&self, layer: Layer) -> String {
        let name = match layer {
            Layer::Node(node) => self.core.nodes.get(node.index()).map(|node| &node.name),
            Layer::Device(device) => self.core.devices.get(device.0).map(|device| &device.name),
        };
        name.cloned().unwrap_or_default()
    }

    fn check_service(&self, upper: &str, shape: &Shape, lower: &str, below: Layer) -> Result<(), GraphError> {
        let offers = match below {
            Layer::Node(node) => self.shape(node).offers,
            Layer::Device(device) => self.core.devices.get(device.0).map(|device| device.service),
        };
        if offers.is_some_and(|service| shape.needs.iter().any(|needed| needed.fits(service))) {
            return Ok(());
        }
        let needs: Vec<String> = shape.needs.iter().map(Service::to_string).collect();
        Err(GraphError::Service {
            upper: upper.to_owned(),
            lower: lower.to_owned(),
            needs: if needs.is_empty() { "nothing below it".to_owned() } else { needs.join(" or ") },
            offers: offers.map_or_else(|| "nothing".to_owned(), |service| service.to_string()),
        })
    }

    fn passes_users_through(&self, node: NodeId) -> bool {
        let protocol = self.protocols.get(node.index());
        protocol.is_some_and(|protocol| protocol.passes_users_through())
    }

    /// The keys under which each user of `node` is found there.
    fn keys_of_users(&self, node: NodeId) -> Vec<Vec<Key>> {
        let Some(node) = self.core.nodes.get(node.index()) else {
            return Vec::new();
        };
        let edges = node.above.iter();
        let edges = edges.filter_map(|way| self.core.edges.get(way.edge as usize));
        edges.map(|edge| edge.keys.clone()).collect()
    }

    /// Makes an access point under which `upper` is found by `keys`, and all those that follow from it further down.
    fn join(&mut self, upper: NodeId, lower: Layer, keys: Vec<Key>) -> Result<AccessPoint, GraphError> {
        let edge = number(self.core.edges.len())?;
        let (upper_name, lower_name) = (self.name(Layer::Node(upper)), self.name(lower));
        let refused = |why| GraphError::Refused { upper: upper_name.clone(), lower: lower_name.clone(), why };
        // Both layers are asked before anything is joined.
        let upper_port = self.ports(upper).below;
        let mut lower_port = 0;
        if let Layer::Node(node) = lower {
            lower_port = self.ports(node).above;
            if let Some(protocol) = self.protocols.get_mut(node.index()) {
                protocol.bind(Above(lower_port), &keys).map_err(refused)?;
            }
        }
        if let Some(protocol) = self.protocols.get_mut(upper.index()) {
            let below = Below(upper_port);
            protocol.attach(below, &lower_name).map_err(refused)?;
        }
        let upper_end = End::Node { node: upper, port: upper_port };
        let lower_end = match lower {
            Layer::Node(node) => End::Node { node, port: lower_port },
            Layer::Device(device) => End::Device(number(device.0)?),
        };
        let within = self.core.is_within(upper, lower_end);
        let ways_up = match lower {
            Layer::Node(node) => self.core.nodes.get_mut(node.index()).map(|node| &mut node.above),
            Layer::Device(device) => self.core.devices.get_mut(device.0).map(|device| &mut device.above),
        };
        if let Some(ways) = ways_up {
            ways.push(EdgeEnd { edge, within, to: upper_end });
        }
        if let Some(above) = self.core.nodes.get_mut(upper.index()) {
            let to = lower_end;
            above.below.push(EdgeEnd { edge, within, to });
        }
        self.core.edges.push(Edge { upper: upper_end, lower: lower_end, tapped: false, keys: keys.clone() });
        if let Layer::Node(node) = lower
            && self.passes_users_through(node)
        {
            for layer in self.stands(node).to_vec() {
                self.join(node, layer, keys.clone())?;
            }
        }
        Ok(AccessPoint(edge))
    }

    /// What `node` has been put on.
    fn stands(&self, node: NodeId) -> &[Layer] {
        let node = self.core.nodes.get(node.index());
        node.map_or(&[], |node| &node.stands_on)
    }

    /// Whether `upper` is `lower` or stands on it, however deep.
    fn stands_on(&self, upper: NodeId, lower: NodeId) -> bool {
        let mut seen = vec![false; self.core.nodes.len()];
        let mut todo = vec![upper];
        while let Some(node) = todo.pop() {
            if node == lower {
                return true;
            }
            if seen.get_mut(node.index()).is_none_or(|seen| core::mem::replace(seen, true)) {
                continue;
            }
            todo.extend(self.below(node));
        }
        false
    }

    /// How many layers stand above and below `node`.
    fn ports(&self, node: NodeId) -> Ports {
        let count = |ways: &[EdgeEnd]| u16::try_from(ways.len()).unwrap_or(u16::MAX);
        self.core
            .nodes
            .get(node.index())
            .map_or_else(Ports::default, |node| Ports { above: count(&node.above), below: count(&node.below) })
    }

    fn shape(&self, node: NodeId) -> Shape {
        self.protocols.get(node.index()).map(|protocol| protocol.shape()).unwrap_or_default()
    }

    /// Checks what can only be checked when all is connected, and lets every node start at `now`, lower ones first:
    /// what a node asks of those below as it starts finds them started.
    ///
    /// # Errors
    /// [`GraphError::Below`] where a node has too few or too many layers below.
    pub fn start(&mut self, now: Instant) -> Result<(), GraphError> {
        for (id, node) in self.numbered() {
            let shape = self.shape(id);
            let (fewest, most) = shape.below;
            let found = node.stands_on.len();
            if found < usize::from(fewest) || found > usize::from(most) {
                return Err(GraphError::Below { node: node.name.clone(), found, fewest, most });
            }
        }
        for node in self.lower_first() {
            self.core.post(PendingInput { input: Input::Start, at: now, record: None, hop: Hop::to(node) });
        }
        Ok(())
    }

    /// The nodes, each after all that it stands on, otherwise in the order of being added.
    fn lower_first(&self) -> Vec<NodeId> {
        let mut order: Vec<NodeId> = Vec::new();
        let mut waiting: Vec<NodeId> = self.numbered().map(|(id, _)| id).collect();
        while !waiting.is_empty() {
            let (ready, rest): (Vec<NodeId>, Vec<NodeId>) =
                waiting.iter().partition(|node| self.below(**node).all(|below| order.contains(&below)));
            // Layers that stand on each other in a ring have no lowest; they keep their order.
            waiting = if ready.is_empty() { Vec::new() } else { rest.clone() };
            order.extend(if ready.is_empty() { rest } else { ready });
        }
        order
    }

    /// The nodes that `node` stands on.
    fn below(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.stands(node).iter().filter_map(|layer| match layer {
            Layer::Node(node) => Some(*node),
            Layer::Device(_) => None,
        })
    }
}
