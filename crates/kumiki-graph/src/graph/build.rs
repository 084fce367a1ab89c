//! How a graph is put together: tasks, nodes and devices are added, and layers put on each other.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{DeviceId, Graph, NodeId, Ports, TaskId};
use crate::assembly::{Device, Edge, End, Input, Item, Node, Task, Way};
use crate::misfit::Misfit;
use crate::{Above, AccessPoint, Account, Below, Instant, Prices, Protocol, Rng, Service};

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
    /// # Errors
    /// A [`Misfit`] where there is no such layer, or the two do not fit. They are not joined then; after a
    /// [`Misfit::Refused`] one of them may think that they are, so build the graph anew.
    pub fn connect(&mut self, upper: &str, lower: &str) -> Result<AccessPoint, Misfit> {
        let unknown = |name: &str| Misfit::Unknown(name.to_owned());
        let above = self.node(upper).ok_or_else(|| unknown(upper))?;
        let shape = self.shape(above);
        let below_node = self.node(lower);
        let device = self
            .core
            .devices
            .iter()
            .position(|device| device.name == lower);
        let offers = match (below_node, device) {
            (Some(node), _) => self.shape(node).offers,
            (None, Some(device)) => self.core.devices.get(device).map(|device| device.service),
            (None, None) => return Err(unknown(lower)),
        };
        if !offers.is_some_and(|service| shape.needs.contains(&service)) {
            let needs: Vec<String> = shape.needs.iter().map(Service::to_string).collect();
            return Err(Misfit::Service {
                upper: upper.to_owned(),
                lower: lower.to_owned(),
                needs: if needs.is_empty() {
                    "nothing below it".to_owned()
                } else {
                    needs.join(" or ")
                },
                offers: offers.map_or_else(|| "nothing".to_owned(), |service| service.to_string()),
            });
        }
        if below_node.is_some_and(|below| self.stands_on(below, above)) {
            return Err(Misfit::Circle {
                upper: upper.to_owned(),
                lower: lower.to_owned(),
            });
        }
        let refused = |why| Misfit::Refused {
            upper: upper.to_owned(),
            lower: lower.to_owned(),
            why,
        };
        // Both layers are asked before anything is joined.
        let lower_port = below_node.map_or(0, |node| self.ports(node).above);
        if let Some(protocol) = below_node.and_then(|node| self.protocols.get_mut(node.0)) {
            protocol
                .bind(Above(lower_port), &shape.keys)
                .map_err(refused)?;
        }
        let upper_port = self.ports(above).below;
        if let Some(protocol) = self.protocols.get_mut(above.0) {
            protocol.attach(Below(upper_port), lower).map_err(refused)?;
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let edge = number(self.core.edges.len());
        let upper = End::Node {
            node: number(above.0),
            port: upper_port,
        };
        let (lower, ways_up) = match (below_node, device) {
            (Some(node), _) => (
                End::Node {
                    node: number(node.0),
                    port: lower_port,
                },
                self.core.nodes.get_mut(node.0).map(|node| &mut node.above),
            ),
            (None, device) => {
                let device = device.unwrap_or_default();
                let devices = &mut self.core.devices;
                (
                    End::Device(number(device)),
                    devices.get_mut(device).map(|device| &mut device.above),
                )
            }
        };
        if let Some(ways) = ways_up {
            ways.push(Way { edge, to: upper });
        }
        if let Some(above) = self.core.nodes.get_mut(above.0) {
            above.below.push(Way { edge, to: lower });
        }
        self.core.edges.push(Edge {
            upper,
            lower,
            tapped: false,
        });
        Ok(AccessPoint(edge))
    }

    /// Whether `upper` is `lower` or stands on it, however deep.
    fn stands_on(&self, upper: NodeId, lower: NodeId) -> bool {
        let mut seen = vec![false; self.core.nodes.len()];
        let mut todo = vec![upper.0];
        while let Some(number) = todo.pop() {
            if number == lower.0 {
                return true;
            }
            let Some(node) = self.core.nodes.get(number) else {
                continue;
            };
            if seen
                .get_mut(number)
                .is_some_and(|seen| core::mem::replace(seen, true))
            {
                continue;
            }
            for way in &node.below {
                if let End::Node { node, .. } = way.to {
                    todo.push(node as usize);
                }
            }
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

    fn shape(&self, node: NodeId) -> crate::Shape {
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
            let found = node.below.len();
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
                .partition(|node| self.below(**node).all(|below| order.contains(&below)));
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
    fn below(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let node = self.core.nodes.get(node);
        let ways = node.map(|node| node.below.as_slice()).unwrap_or_default();
        ways.iter().filter_map(|way| match way.to {
            End::Node { node, .. } => Some(node as usize),
            End::Device(_) => None,
        })
    }
}
