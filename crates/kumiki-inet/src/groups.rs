//! Groups of hosts that a layer's users are in.

use kumiki_graph::Above;

/// Who is in which group.
#[derive(Debug)]
pub(crate) struct Groups<A> {
    /// Each user once for each of its groups.
    members: Vec<(Above, A)>,
}

impl<A> Default for Groups<A> {
    fn default() -> Self {
        Self { members: Vec::new() }
    }
}

impl<A: Copy + PartialEq> Groups<A> {
    /// The user is in `group` from now on, or no longer.
    pub(crate) fn set(&mut self, user: Above, group: A, member: bool) {
        self.members.retain(|it| *it != (user, group));
        if member {
            self.members.push((user, group));
        }
    }

    /// Whether anybody is in `group`.
    pub(crate) fn contains(&self, group: A) -> bool {
        self.members.iter().any(|(_, it)| *it == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_members_until_the_last_has_left() {
        let mut groups = Groups::default();
        groups.set(Above(0), 7, true);
        groups.set(Above(1), 7, true);
        groups.set(Above(1), 7, true);
        assert!(groups.contains(7) && !groups.contains(8));
        groups.set(Above(1), 7, false);
        assert!(groups.contains(7));
        groups.set(Above(0), 7, false);
        assert!(!groups.contains(7));
    }
}
