//! Where the systems of the papers differ from what is here, for whoever has only the page; `docs/papers.md` has all of
//! it.

/// What a reader of a paper's verdicts has to know beforehand, by the paper.
const SYSTEMS: [(u8, &str); 5] = [
    (
        1,
        "The two Ultra-2 are price lists, of which the cost of a write was fitted to two rows of table 2 and to the use of the CPUs; MTU, check sequence and flags of the line are not in the paper and were chosen here so that its ceiling comes out.",
    ),
    (
        2,
        "The paper prints no processing times of its board: three prices were fitted to three of its values, and the rules by which its memory is shared out are assumptions made with figure 7 in view.",
    ),
    (
        3,
        "The paper's XTP is revision 3.6, of which no text is public. Here it is 4.0b on the wire, with a congestion avoidance that is ours, for the paper's is not described there. Host prices are assumed, and three were fitted.",
    ),
    (
        4,
        "The paper draws its curves without numbers and prints two values and two ranges: two prices of the board were fitted, and all others are assumed.",
    ),
    (
        5,
        "The values of the paper's figures are lost, and its text says only how the curves lie: nothing is fitted, and all prices of the workstations are assumed.",
    ),
];

/// What to know of `paper`.
pub(super) fn system(paper: u8) -> Option<&'static str> {
    SYSTEMS.iter().find(|(number, _)| *number == paper).map(|(_, system)| *system)
}
