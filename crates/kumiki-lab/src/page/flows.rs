//! What captures show of connections: sequence numbers over time, and packets that unfold.

use kumiki_octets::text::counted;

use super::html::Html;
use super::{Flow, Part, parts};

impl Part {
    pub(super) fn write_flows(&self, html: &mut Html) {
        if self.flows.is_empty() {
            return;
        }
        html.leaf("h3", &[], "What packets show");
        for flow in &self.flows {
            flow.write(html);
        }
    }
}

impl Flow {
    fn write(&self, html: &mut Html) {
        if !self.place.is_empty() {
            html.leaf("h4", &[], &self.place);
        }
        if !self.figure.series.is_empty() {
            parts::figure(html, &self.figure);
        }
        parts::list(html, self.notes.iter().map(String::as_str));
        if self.packets.is_empty() {
            return;
        }
        html.open("details", &[]);
        let packets = counted(self.packets.len(), "packet");
        let which = if self.are_all { format!("All {packets}") } else { format!("The first {packets}") };
        html.leaf("summary", &[], &format!("{which}, each with all that is in it"));
        parts::scroll(html, &format!("Packets: {}", self.place));
        for (line, tree) in &self.packets {
            html.open("details", &[("class", "packet")]);
            html.leaf("summary", &[], line);
            html.leaf("pre", &[("tabindex", "0")], tree);
            html.close();
        }
        html.close();
        html.close();
    }
}
