//! How a graph is put together: tasks, nodes and devices are added, and layers put on each other.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{DeviceId, Graph, NodeId, Ports, TaskId};
use crate::assembly::{Device, Edge, End, Input, Item, Layer, Node, Task, Way};
use crate::misfit::Misfit;
use crate::{
    Above, AccessPoint, Account, Below, Instant, Key, Prices, Protocol, Rng, Service, Shape,
};

impl Graph {
    /// Adds a task.
    pub fn add_task(&mut self, name: &str) -> TaskId {
        self.core.tasks.push(Task {
            inbox: VecDeque::new(),
            rest_ps: 0,
            name: name.to_owned(),
        });
        TaskId(self.core.tasks.len() - 1)
    }

    /// Adds a node that runs in `task`.
    ///
    /// # Errors
    /// [`Misfit::Twice`] where the name is taken.
    pub fn add_node(
        &mut self,
        name: &str,
        task: TaskId,
        protocol: Box<dyn Protocol>,
    ) -> Result<NodeId, Misfit> {
        self.check_name(name)?;
        let number = self.protocols.len();
        self.protocols.push(protocol);
        self.core.nodes.push(Node {
            task,
            busy_ps: 0,
            touched: false,
            priced: false,
            above: SmallVec::new(),
            below: SmallVec::new(),
            account: Account::default(),
            prices: Prices::default(),
            name: name.to_owned(),
            stands_on: Vec::new(),
            rng: Rng::new(self.seed, self.stream << 16 | number as u64),
        });
        Ok(NodeId(number))
    }

    /// Adds a device that speaks `service`.
    ///
    /// # Errors
    /// [`Misfit::Twice`] where the name is taken.
    pub fn add_device(&mut self, name: &str, service: Service) -> Result<DeviceId, Misfit> {
        self.check_name(name)?;
        self.core.devices.push(Device {
            above: SmallVec::new(),
            service,
            name: name.to_owned(),
        });
        Ok(DeviceId(self.core.devices.len() - 1))
    }

    fn check_name(&self, name: &str) -> Result<(), Misfit> {
        let taken = self.core.nodes.iter().any(|node| node.name == name)
            || self.core.devices.iter().any(|device| device.name == name);
        if taken {
            Err(Misfit::Twice(name.to_owned()))
        } else {
            Ok(())
        }
    }

    /// The node called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.core
            .nodes
            .iter()
            .position(|node| node.name == name)
            .map(NodeId)
    }

    /// Puts the node `upper` on top of the node or device `lower`.
    ///
    /// What comes back is the access point between them. A layer that [passes its users
    /// through](Protocol::passes_users_through) gets one on each layer that it stands on for each of its users, and one of its
    /// own, which comes back, only where it has keys.
    ///
    /// # Errors
    /// A [`Misfit`] where there is no such layer, or the two do not fit. They are not joined then; after a
    /// [`Misfit::Refused`] one of them may think that they are, so build the graph anew.
    pub fn connect(&mut self, upper: &str, lower: &str) -> Result<Option<AccessPoint>, Misfit> {
        let unknown = |name: &str| Misfit::Unknown(name.to_owned());
        let above = self.node(upper).ok_or_else(|| unknown(upper))?;
        let below = self.layer(lower).ok_or_else(|| unknown(lower))?;
        let shape = self.shape(above);
        self.check_service(upper, &shape, lower, below)?;
        if let Layer::Node(node) = below
            && self.stands_on(node, above)
        {
            return Err(Misfit::Circle {
                upper: upper.to_owned(),
                lower: lower.to_owned(),
            });
        }
        let passes = self.passes_users_through(above);
        if passes && matches!(below, Layer::Device(_)) {
            return Err(Misfit::Refused {
                upper: upper.to_owned(),
                lower: lower.to_owned(),
                why: "a device does not tell users apart; put a layer between that does".to_owned(),
            });
        }
        let own = if passes && shape.keys.is_empty() {
            None
        } else {
            Some(self.join(above, below, shape.keys)?)
        };
        if let Some(node) = self.core.nodes.get_mut(above.0) {
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
            Layer::Node(node) => self.core.nodes.get(node.0).map(|node| &node.name),
            Layer::Device(device) => self.core.devices.get(device.0).map(|device| &device.name),
        };
        name.cloned().unwrap_or_default()
    }

    fn check_service(
        &self,
        upper: &str,
        shape: &Shape,
        lower: &str,
        below: Layer,
    ) -> Result<(), Misfit> {
        let offers = match below {
            Layer::Node(node) => self.shape(node).offers,
            Layer::Device(device) => self.core.devices.get(device.0).map(|device| device.service),
        };
        if offers.is_some_and(|service| shape.needs.contains(&service)) {
            return Ok(());
        }
        let needs: Vec<String> = shape.needs.iter().map(Service::to_string).collect();
        Err(Misfit::Service {
            upper: upper.to_owned(),
            lower: lower.to_owned(),
            needs: if needs.is_empty() {
                "nothing below it".to_owned()
            } else {
                needs.join(" or ")
            },
            offers: offers.map_or_else(|| "nothing".to_owned(), |service| service.to_string()),
        })
    }

    fn passes_users_through(&self, node: NodeId) -> bool {
        let protocol = self.protocols.get(node.0);
        protocol.is_some_and(|protocol| protocol.passes_users_through())
    }

    /// The keys under which each user of `node` is found there.
    fn keys_of_users(&self, node: NodeId) -> Vec<Vec<Key>> {
        let Some(node) = self.core.nodes.get(node.0) else {
            return Vec::new();
        };
        let edges = node.above.iter();
        let edges = edges.filter_map(|way| self.core.edges.get(way.edge as usize));
        edges.map(|edge| edge.keys.clone()).collect()
    }

    /// Makes an access point under which `upper` is found by `keys`, and all those that follow from it further down.
    fn join(&mut self, upper: NodeId, lower: Layer, keys: Vec<Key>) -> Result<AccessPoint, Misfit> {
        let (upper_name, lower_name) = (self.name(Layer::Node(upper)), self.name(lower));
        let refused = |why| Misfit::Refused {
            upper: upper_name.clone(),
            lower: lower_name.clone(),
            why,
        };
        // Both layers are asked before anything is joined.
        let upper_port = self.ports(upper).below;
        let mut lower_port = 0;
        if let Layer::Node(node) = lower {
            lower_port = self.ports(node).above;
            if let Some(protocol) = self.protocols.get_mut(node.0) {
                protocol.bind(Above(lower_port), &keys).map_err(refused)?;
            }
        }
        if let Some(protocol) = self.protocols.get_mut(upper.0) {
            let below = Below(upper_port);
            protocol.attach(below, &lower_name).map_err(refused)?;
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let edge = number(self.core.edges.len());
        let upper_end = End::Node {
            node: number(upper.0),
            port: upper_port,
        };
        let (lower_end, ways_up) = match lower {
            Layer::Node(node) => (
                End::Node {
                    node: number(node.0),
                    port: lower_port,
                },
                self.core.nodes.get_mut(node.0).map(|node| &mut node.above),
            ),
            Layer::Device(device) => {
                let devices = &mut self.core.devices;
                (
                    End::Device(number(device.0)),
                    devices.get_mut(device.0).map(|device| &mut device.above),
                )
            }
        };
        if let Some(ways) = ways_up {
            ways.push(Way {
                edge,
                to: upper_end,
            });
        }
        if let Some(above) = self.core.nodes.get_mut(upper.0) {
            let to = lower_end;
            above.below.push(Way { edge, to });
        }
        self.core.edges.push(Edge {
            upper: upper_end,
            lower: lower_end,
            tapped: false,
            keys: keys.clone(),
        });
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
        let node = self.core.nodes.get(node.0);
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
            if seen
                .get_mut(node.0)
                .is_none_or(|seen| core::mem::replace(seen, true))
            {
                continue;
            }
            todo.extend(self.below(node.0));
        }
        false
    }

    /// How many layers stand above and below `node`.
    fn ports(&self, node: NodeId) -> Ports {
        let count = |ways: &[Way]| u16::try_from(ways.len()).unwrap_or(u16::MAX);
        self.core
            .nodes
            .get(node.0)
            .map_or_else(Ports::default, |node| Ports {
                above: count(&node.above),
                below: count(&node.below),
            })
    }

    fn shape(&self, node: NodeId) -> Shape {
        self.protocols
            .get(node.0)
            .map(|protocol| protocol.shape())
            .unwrap_or_default()
    }

    /// Checks what can only be checked when all is connected, and lets every node start at `now`, lower ones first: what a
    /// node asks of those below as it starts finds them started.
    ///
    /// # Errors
    /// [`Misfit::Below`] where a node has too few or too many layers below.
    pub fn start(&mut self, now: Instant) -> Result<(), Misfit> {
        for (number, node) in self.core.nodes.iter().enumerate() {
            let shape = self.shape(NodeId(number));
            let (fewest, most) = shape.below;
            let found = node.stands_on.len();
            if found < usize::from(fewest) || found > usize::from(most) {
                return Err(Misfit::Below {
                    node: node.name.clone(),
                    found,
                    fewest,
                    most,
                });
            }
        }
        for node in self.lower_first() {
            let input = Input::Start;
            self.core.deliver(Item {
                node: u32::try_from(node).unwrap_or(u32::MAX),
                at: now,
                input,
                record: None,
            });
        }
        Ok(())
    }

    /// The nodes, each after all that it stands on, otherwise in the order of being added.
    fn lower_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        let mut waiting: Vec<usize> = (0..self.core.nodes.len()).collect();
        while !waiting.is_empty() {
            let (ready, rest): (Vec<usize>, Vec<usize>) = waiting
                .iter()
                .partition(|node| self.below(**node).all(|below| order.contains(&below.0)));
            // Layers that stand on each other in a ring have no lowest; they keep their order.
            waiting = if ready.is_empty() {
                Vec::new()
            } else {
                rest.clone()
            };
            order.extend(if ready.is_empty() { rest } else { ready });
        }
        order
    }

    /// The nodes that `node` stands on.
    fn below(&self, node: usize) -> impl Iterator<Item = NodeId> + '_ {
        self.stands(NodeId(node))
            .iter()
            .filter_map(|layer| match layer {
                Layer::Node(node) => Some(*node),
                Layer::Device(_) => None,
            })
    }
}
