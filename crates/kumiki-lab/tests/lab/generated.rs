//! A page of `docs/` that is made from what the program knows.

use std::path::Path;

/// Who sets it has pages written again where they would be compared.
const BLESS: &str = "KUMIKI_BLESS";

/// Fails where the page called `name` is not `text`, and says how it is written again: by the tests of `test`.
#[track_caller]
pub(crate) fn is_up_to_date(name: &str, text: &str, test: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os(BLESS).is_some() {
        let written = std::fs::write(&path, text);
        assert!(written.is_ok(), "{}: {written:?}", path.display());
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/{name} is out of date; to write it again: {BLESS}=1 cargo test -p kumiki-lab --test lab {test}"
    );
}
