//! A packet on its way down: it grows, and may be cut.

use super::Cost;
use super::ratio::Ratio;

/// What has become of the user data of one packet.
pub(super) struct Packet {
    payload: Ratio,
    /// Pieces of one length, how many and how long, in octets. Of those that packets share, a part.
    pieces: Vec<(Ratio, u128)>,
    /// What is among their octets, on average, all pieces together.
    among: Ratio,
    /// Cells of all pieces, where there are cells and a whole number of them.
    pub(super) cells: Option<u128>,
    /// Octets that only fill cells.
    pub(super) padding: Ratio,
}

impl Packet {
    pub(super) fn new(payload_octets: u32) -> Self {
        let octets = u128::from(payload_octets);
        Self {
            payload: Ratio::whole(octets),
            pieces: vec![(Ratio::whole(1), octets)],
            among: Ratio::ZERO,
            cells: None,
            padding: Ratio::ZERO,
        }
    }

    /// All octets of it; `None` where that is beyond all measure.
    pub(super) fn size(&self) -> Option<Ratio> {
        self.of_pieces()?.checked_add(self.among)
    }

    /// How many pieces it has.
    pub(super) fn count(&self) -> Option<Ratio> {
        self.pieces.iter().try_fold(Ratio::ZERO, |sum, (count, _)| sum.checked_add(*count))
    }

    fn of_pieces(&self) -> Option<Ratio> {
        let mut pieces = self.pieces.iter();
        pieces.try_fold(Ratio::ZERO, |sum, (count, octets)| sum.checked_add(count.checked_mul(Ratio::whole(*octets))?))
    }

    /// Passes a layer that takes `cost`.
    pub(super) fn pass(&mut self, cost: Cost) -> Option<()> {
        match cost {
            Cost::Share { .. } => {}
            Cost::Octets(octets) => {
                for (_, piece) in &mut self.pieces {
                    *piece = piece.checked_add(octets.into())?;
                }
            }
            Cost::Pieces(octets) => self.cut(octets.into())?,
            // What comes behind fills the last one.
            Cost::Segments(octets) => {
                let count = self.of_pieces()?.checked_div(Ratio::whole(octets.into()))?;
                self.pieces = vec![(count, octets.into())];
            }
            Cost::Cells(octets) => self.fill(octets.into())?,
            Cost::Among { added, per } => {
                let share = Ratio::new(added.into(), per.into())?;
                self.among = self.among.checked_add(share.checked_mul(self.payload)?)?;
            }
        }
        Some(())
    }

    fn cut(&mut self, octets: u128) -> Option<()> {
        let mut cut = Vec::new();
        for (count, piece) in &self.pieces {
            let whole = piece.checked_div(octets)?;
            let rest = piece.checked_rem(octets)?;
            for (pieces, octets) in [(whole, octets), (1, rest)] {
                if pieces > 0 && octets > 0 {
                    cut.push((count.checked_mul(Ratio::whole(pieces))?, octets));
                }
            }
        }
        self.pieces = cut;
        Some(())
    }

    /// Fills the last cell of each piece. What is among the octets is taken as spread over the pieces by their number.
    fn fill(&mut self, octets: u128) -> Option<()> {
        let before = self.size()?;
        let among = self.among.checked_div(self.count()?)?;
        let mut cells = Ratio::ZERO;
        for (count, piece) in &mut self.pieces {
            let size = Ratio::whole(*piece).checked_add(among)?;
            let filled = size.checked_div(Ratio::whole(octets))?.ceil();
            cells = cells.checked_add(count.checked_mul(Ratio::whole(filled))?)?;
            *piece = filled.checked_mul(octets)?;
        }
        self.among = Ratio::ZERO;
        self.cells = (cells.denominator() == 1).then(|| cells.numerator());
        self.padding = self.size()?.checked_sub(before)?;
        Some(())
    }
}
