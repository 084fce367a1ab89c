//! Units that are handed on.

use kumiki_graph::{Address, Parameters, Unit, UnitOptions};

/// Says anew what goes with the data of `unit`. Who hands a unit on hands on its box: a new one for each layer would be two
/// allocations for each packet.
#[inline]
pub(crate) fn readdress(unit: &mut Unit, source: Address, destination: Address, options: UnitOptions) {
    unit.source = source;
    unit.destination = destination;
    unit.options = options;
    unit.parameters = Parameters::NONE;
}
