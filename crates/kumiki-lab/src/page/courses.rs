//! Values over time: a figure of each, and its table, for whoever sees no figure or wants the number.

use super::html::Html;
use super::{Part, PointSeries, parts};

impl Part {
    pub(super) fn write_courses(&self, html: &mut Html) {
        let Some((first, others)) = self.courses.split_first() else {
            return;
        };
        html.leaf("h3", &[], "Over time");
        if !first.place.is_empty() {
            html.leaf("h4", &[], &first.place);
        }
        first.write(html);
        for course in others {
            html.open("details", &[]);
            html.leaf("summary", &[], &format!("Over time: {}", course.place));
            course.write(html);
            html.close();
        }
    }
}

impl PointSeries {
    fn write(&self, html: &mut Html) {
        if !self.notes.is_empty() {
            html.open("ul", &[("class", "notes")]);
            for note in &self.notes {
                html.leaf("li", &[], note);
            }
            html.close();
        }
        for (figure, table) in &self.figures {
            parts::figure(html, figure);
            html.open("details", &[]);
            html.leaf("summary", &[], &format!("Values: {}", figure.title));
            parts::table(html, table);
            html.close();
        }
    }
}
