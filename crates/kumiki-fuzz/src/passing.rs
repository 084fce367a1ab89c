//! The passing of time for a target that has a graph: what is due happens in its order, and nothing is due for ever.

use kumiki_graph::{Duration, Graph, Instant};

/// The most timers that may be due in one step of a target.
const MOST_DUE: usize = 100_000;

/// What has a graph and a time.
pub(crate) trait Passing {
    fn parts(&mut self) -> (&mut Graph, &mut Instant);

    /// Does what is to be done at once, before time goes on.
    fn settle(&mut self);

    fn pass(&mut self, time: Duration) {
        let until = *self.parts().1 + time;
        let mut events = 0;
        loop {
            let (graph, now) = self.parts();
            let Some(due) = graph.next_timer().filter(|due| *due <= until) else {
                break;
            };
            events += 1;
            assert!(events < MOST_DUE, "timers without end");
            *now = due.max(*now);
            graph.fire(due);
            self.settle();
        }
        *self.parts().1 = until;
    }
}
