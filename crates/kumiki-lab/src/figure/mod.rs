//! Figures as standalone SVG, with the paper's printed points over our curves.
//!
//! | | |
//! |---|---|
//! | Specification | SVG 1.1, static; sizes in user units, 960 wide, or 380 for a narrow screen; no scripts, no style sheets, no fonts but the reader's own sans-serif; no ground of its own |
//! | Colours | Okabe and Ito, "Color Universal Design" (2008), so that they stand out on light and dark ground; each series also has a marker, dashes or a hatch of its own |
//! | Classes | by which a page can colour it otherwise: `sN` the series, `cN` its colour; in it `ln` lines, `mk` markers, `br` bars, `pt` what says its values; `frame`, `grid`, `limit`, and `soft` words; by which it can zoom: `plot` what is clipped to the frame, with `data-x` and `data-y` (scale, and both ends in its steps), `tx` and `ty` what belongs to ticks |
//! | Left out | two y axes, interaction |
//!
//! The same [`Figure`] gives the same octets. Text cannot be measured without a font, so its width is estimated on the
//! wide side, and everything that could meet a curve has a place outside the plot: the legend above, the names of
//! limits to the right, or in the legend of a narrow one.

#[cfg(test)]
pub(crate) mod contrast;
mod describe;
pub(crate) mod draw;
mod marks;
pub(crate) mod palette;
mod scale;
mod size;
#[cfg(test)]
mod tests;
pub(crate) mod text;

pub(crate) use scale::octets;
use size::Sizes;

/// A figure before it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Above the figure.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. Its scale is linear, or [`Scale::Log10`] where there are no bars.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
    /// Horizontal lines that nothing can exceed.
    pub limits: Vec<Limit>,
    /// Below the figure: where it comes from (profile, version, how many seeds).
    pub caption: String,
    /// Whose values the hollow markers are; empty: the paper's.
    pub whose: &'static str,
    /// Of words and axes.
    pub ink: Ink,
}

/// The colour of words and axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Grey, which can be read on light and on dark ground.
    #[default]
    Grey,
    /// For light ground, beside black text.
    Black,
    /// For dark ground, beside white text.
    White,
}

impl Ink {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Grey, Self::Black, Self::White];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grey => "grey",
            Self::Black => "black",
            Self::White => "white",
        }
    }

    const fn colour(self) -> &'static str {
        match self {
            Self::Grey => palette::NEUTRAL,
            Self::Black => "#000000",
            Self::White => "#ffffff",
        }
    }
}

impl core::str::FromStr for Ink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|ink| ink.name() == text);
        found.ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows: "window".
    pub label: String,
    /// In which unit; empty for none, and for [`Scale::Octets`], whose ticks carry it.
    pub unit: String,
    /// How values become places.
    pub scale: Scale,
    /// The ends; `None` to take in all values. A y axis starts at zero unless all values are far above it.
    pub range: Option<(f64, f64)>,
}

/// How values become places.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors, ticks at powers of two.
    Log2,
    /// As [`Scale::Log2`] for a number of octets; ticks read 8 KiB, 16 KiB.
    Octets,
    /// Equal factors, ticks at powers of ten and, where these are few, at twice and five times.
    Log10,
    /// One place for each name, at 0, 1, 2, ...; for bars.
    Names(Vec<String>),
}

/// A curve, a cloud of points, or a row of bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// How it is drawn.
    pub shape: Shape,
    /// What was measured, in the order in which a line connects it. Values that are not finite, or not above zero on a
    /// logarithmic axis, are left out.
    pub points: Vec<Point>,
    /// What the paper prints: x and y. Drawn as hollow markers in the series' colour.
    pub paper: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A line with a marker at each point.
    #[default]
    Line,
    /// A line alone, for many points.
    Curve,
    /// Markers alone.
    Scatter,
    /// An upright line for each point, from one end of its spread to the other.
    Span,
    /// Bars from zero; several such series stand beside each other.
    Bars,
    /// Parts of bars: each series stands on those before it.
    Stack,
    /// A dashed upright line through the whole height for each point: a time at which something happened, which is what
    /// is said of it. Its y counts for nothing.
    Mark,
}

/// One measured value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// What.
    pub y: f64,
    /// The ends of the error bar.
    pub spread: Option<(f64, f64)>,
    /// What bound it; empty where that is not known.
    pub bound: String,
    /// What else is said of it, such as which packet it was; may be empty.
    pub said: String,
}

impl Point {
    /// A value without an error bar.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, spread: None, bound: String::new(), said: String::new() }
    }

    /// A mean with half the width of its interval, if there is one.
    #[must_use]
    pub fn with_half_width(x: f64, y: f64, half_width: Option<f64>) -> Self {
        Self { spread: half_width.map(|w| (y - w, y + w)), ..Self::new(x, y) }
    }

    /// With an interval that ends where what is drawn has its `ends`, if there are any.
    #[must_use]
    pub(crate) fn within(self, ends: Option<(f64, f64)>) -> Self {
        match (self.spread, ends) {
            (Some((low, high)), Some((least, most))) => Self { spread: Some((low.max(least), high.min(most))), ..self },
            (_, _) => self,
        }
    }
}

/// A dashed horizontal line with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// Its name; the value is added.
    pub label: String,
    /// Where.
    pub y: f64,
}

impl Figure {
    /// The figure as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::document(core::slice::from_ref(self), &Sizes::WIDE)
    }

    /// The same for a narrow screen, such as that of a telephone: nothing is left out, and letters stay as large as
    /// they are.
    #[must_use]
    pub fn to_narrow_svg(&self) -> String {
        draw::document(core::slice::from_ref(self), &Sizes::NARROW)
    }

    /// Several figures below each other, as one SVG document.
    #[must_use]
    pub fn stacked(figures: &[Self]) -> String {
        draw::document(figures, &Sizes::WIDE)
    }
}
