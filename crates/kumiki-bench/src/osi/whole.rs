//! All in one graph: two users of the same seven layers, which meet below transport.

use kumiki_files::node::ClientRequest;
use kumiki_graph::loopback::{Config, Loopback};
use kumiki_graph::{Graph, Instant, TaskId};

use super::stack::{self, Content, Shape};
use super::{FileDirection, TimeUse};
use crate::load::cpu_s;

/// A run.
pub(super) fn run(shape: Shape, content: &Content, check: bool) -> Result<[TimeUse; 2], String> {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let client = stack::client(shape);
    let server = stack::server(shape);
    stack::add(&mut graph, task, shape, vec![("server", Box::new(server)), ("client", Box::new(client))])
        .and_then(|()| {
            let loopback = Loopback::new(Config::default());
            graph.add_node("loopback", task, Box::new(loopback))?;
            graph.connect("tp0", "loopback")?;
            graph.start(Instant::ZERO)
        })
        .map_err(|graph_error| graph_error.to_string())?;
    let node = graph.node("client").ok_or("no client")?;
    run_on(&mut graph, task);
    let mut taken = [TimeUse::default(); 2];
    for (way, taken) in FileDirection::BOTH.into_iter().zip(&mut taken) {
        if !stack::done(&graph, node, way as usize, shape.octets)? {
            return Err("it makes no progress".to_owned());
        }
        let operation = content.operation(way, check);
        let begin = cpu_s();
        stack::want(&mut graph, node, Instant::ZERO, ClientRequest::Do(operation));
        run_on(&mut graph, task);
        taken.cpu_s = cpu_s() - begin;
    }
    if !stack::done(&graph, node, 2, shape.octets)? {
        return Err("it makes no progress".to_owned());
    }
    Ok(taken)
}

/// Until nothing is left to do: all happens at the same instant but for what FTAM holds back to the end of it.
fn run_on(graph: &mut Graph, task: TaskId) {
    loop {
        while graph.waiting(task).is_some() {
            graph.run(task, Instant::ZERO, usize::MAX);
        }
        if graph.next_timer().is_none_or(|at| at > Instant::ZERO) {
            return;
        }
        graph.fire(Instant::ZERO);
    }
}
