//! How large the parts of a figure are, in user units.

use super::text::width;

/// What a figure is drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Of the whole.
    pub(super) width: f64,
    /// Of the frame.
    pub(super) plot_height: f64,
    /// Between everything and the edge.
    pub(super) pad: f64,
    /// Of the letters of the title,
    pub(super) title: f64,
    /// of the names of axes,
    pub(super) label: f64,
    /// of ticks, keys and limits,
    pub(super) small: f64,
    /// and of what stands below.
    pub(super) caption: f64,
    /// The length of a line in the legend.
    pub(super) key: f64,
    /// Room right of the frame for the names of limits; they are among the keys where there is none.
    pub(super) limits: Option<f64>,
}

impl Sizes {
    /// For a page, a slide, or print.
    pub(super) const WIDE: Self = Self {
        width: 960.0,
        plot_height: 400.0,
        pad: 24.0,
        title: 22.0,
        label: 18.0,
        small: 16.0,
        caption: 14.0,
        key: 34.0,
        limits: Some(170.0),
    };

    /// For the screen of a telephone: its letters are as large there as they are here.
    pub(super) const NARROW: Self = Self {
        width: 380.0,
        plot_height: 260.0,
        pad: 8.0,
        title: 16.0,
        label: 14.0,
        small: 13.0,
        caption: 12.0,
        key: 26.0,
        limits: None,
    };

    /// How wide `text` of ticks, keys and limits is.
    pub(super) fn small_width(&self, text: &str) -> f64 {
        width(text, self.small)
    }
}
