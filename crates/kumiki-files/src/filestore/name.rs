//! Names of files as a store has them.

use core::fmt;

use kumiki_osi_service::ftam::GraphicString;
use kumiki_osi_service::ftam::attributes::Pathname;

use super::StoreError;

/// The most components of a name.
const DEEPEST: usize = 32;

/// The most octets of one component, as most file systems have it.
const LONGEST: usize = 255;

/// A name from the root of the store: components that are neither empty nor `.` nor `..`, without `/` and NUL in them.
/// The root itself has none.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Name(Vec<GraphicString>);

impl Name {
    /// What a peer calls a file.
    ///
    /// Most peers send one component with separators in it, so `/` separates here as well. A name of nothing, `.` and
    /// `/` are the root; names may begin with it, and `.` is where it stands: initiators put such names together from
    /// that of the directory that they are in.
    ///
    /// # Errors
    /// 3027 with the component that is none.
    pub fn parse(pathname: &Pathname) -> Result<Self, StoreError> {
        let bad = |why: String| StoreError::permanent(3027, why);
        if let [only] = pathname.components()
            && matches!(only.octets(), b"" | b"." | b"/")
        {
            return Ok(Self::default());
        }
        let mut components = Vec::new();
        for component in pathname.components() {
            let octets = component.octets();
            let octets = octets.strip_prefix(b"/").filter(|_| components.is_empty()).unwrap_or(octets);
            for part in octets.split(|octet| *octet == b'/') {
                let shown = || GraphicString::from(part);
                match part {
                    b"" => {
                        return Err(bad("a name has an empty component, or ends with /".to_owned()));
                    }
                    b"." => {}
                    b".." => return Err(bad("a name has .. in it".to_owned())),
                    _ if part.contains(&0) => return Err(bad("a name has NUL in it".to_owned())),
                    _ if part.len() > LONGEST => {
                        return Err(bad(format!("a component has more than {LONGEST} octets")));
                    }
                    _ if components.len() == DEEPEST => {
                        return Err(bad(format!("a name has more than {DEEPEST} components")));
                    }
                    _ => components.push(shown()),
                }
            }
        }
        Ok(Self(components))
    }

    /// The components, from the root on.
    #[must_use]
    pub fn components(&self) -> &[GraphicString] {
        &self.0
    }

    /// The directory that it is in, and the last component. The root is in none.
    #[must_use]
    pub fn split(&self) -> Option<(Self, &GraphicString)> {
        let (last, before) = self.0.split_last()?;
        Some((Self(before.to_vec()), last))
    }

    /// What is called `last` in the directory of this name.
    pub(crate) fn with(&self, last: &GraphicString) -> Self {
        let mut components = self.0.clone();
        components.push(last.clone());
        Self(components)
    }

    /// As peers write it: one component, with `/` between those here; the root is `.`.
    #[must_use]
    pub fn pathname(&self) -> Pathname {
        if self.0.is_empty() {
            return Pathname::from(".");
        }
        let octets: Vec<&[u8]> = self.0.iter().map(GraphicString::octets).collect();
        Pathname::from(GraphicString::from(octets.join(&b'/')))
    }

    /// Whether `self` is below `directory`, or the same.
    #[must_use]
    pub fn is_within(&self, directory: &Self) -> bool {
        self.0.starts_with(&directory.0)
    }
}

/// Components with `/` between them; the root is `/`.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        let mut before = "";
        for component in &self.0 {
            write!(f, "{before}{component}")?;
            before = "/";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_in_one_component_or_in_several() {
        let one = Name::parse(&"a/b".into()).unwrap();
        let two = Name::parse(&Pathname::Incomplete(vec!["a".into(), "b".into()])).unwrap();
        assert_eq!(one, two);
        assert_eq!(one.to_string(), "a/b");
        for root in ["", ".", "/", "./."] {
            assert_eq!(Name::parse(&root.into()).unwrap(), Name::default());
        }
        for same in ["/a/b", "./a/b", "/./a/./b", "a/b/."] {
            assert_eq!(Name::parse(&same.into()).unwrap(), one, "{same}");
        }
        assert_eq!(Name::default().pathname(), ".".into());
        assert_eq!(Name::parse(&Pathname::default()).unwrap(), Name::default());
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for bad in ["..", "../x", "a/../b", "/../etc", "//etc", "a//b", "a/", "/a/", "a\0b", "a/.."] {
            assert_eq!(Name::parse(&bad.into()).unwrap_err().identifier, 3027, "{bad:?}");
        }
        assert!(Name::parse(&"x".repeat(256).as_str().into()).is_err());
        assert!(Name::parse(&["x"; 33].join("/").as_str().into()).is_err());
        assert!(Name::parse(&"...".into()).is_ok());
    }
}
