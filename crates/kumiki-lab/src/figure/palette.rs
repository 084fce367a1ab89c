//! Colours that stand out on light and on dark ground, as a figure does not know what is below it.

/// Words, axes and limits: 4.5 to 1 beside white and beside black (WCAG 2.2).
pub(super) const NEUTRAL: &str = "#757575";

/// Okabe and Ito's colours, "Color Universal Design" (2008), from the darkest; orange and sky blue darkened until lines
/// of them have 3 to 1 beside white, grey for black, which would be gone in the dark, and their yellow left out, which
/// is too light for lines.
pub(crate) const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#3f94cc", NEUTRAL];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::contrast::contrast;

    #[test]
    fn figures_stand_out_on_light_and_dark_ground() {
        for (ground, words) in [("#ffffff", 4.5), ("#000000", 4.5), ("#14181d", 3.0)] {
            assert!(contrast(NEUTRAL, ground) >= words, "on {ground}");
            for colour in COLOURS {
                assert!(contrast(colour, ground) >= 3.0, "{colour} on {ground}: {}", contrast(colour, ground));
            }
        }
    }
}
