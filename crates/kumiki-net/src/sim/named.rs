//! Hosts as somebody names them.

/// A [`Host`](super::Host), the name of one, or several of either: `"db"`, `["a", "b"]`, `net.hosts()`.
pub trait ToHosts: sealed::ToHosts {}

impl<T: sealed::ToHosts + ?Sized> ToHosts for T {}

pub(super) mod sealed {
    use crate::sim::{Host, Net};

    pub trait ToHosts {
        /// Those that are meant.
        ///
        /// # Panics
        /// Where the network has no host of a name.
        fn hosts(&self, net: &Net) -> Vec<Host>;
    }

    impl ToHosts for Host {
        fn hosts(&self, _: &Net) -> Vec<Host> {
            vec![self.clone()]
        }
    }

    impl ToHosts for str {
        fn hosts(&self, net: &Net) -> Vec<Host> {
            let Some(host) = net.find(self) else {
                let names: Vec<String> = net.hosts().iter().map(|host| format!("`{}`", host.name())).collect();
                panic!("no host of this network is called `{self}`; there are {}", names.join(", "));
            };
            vec![host]
        }
    }

    impl ToHosts for String {
        fn hosts(&self, net: &Net) -> Vec<Host> {
            self.as_str().hosts(net)
        }
    }

    impl<T: ToHosts> ToHosts for [T] {
        fn hosts(&self, net: &Net) -> Vec<Host> {
            self.iter().flat_map(|it| it.hosts(net)).collect()
        }
    }

    impl<T: ToHosts, const N: usize> ToHosts for [T; N] {
        fn hosts(&self, net: &Net) -> Vec<Host> {
            self.as_slice().hosts(net)
        }
    }

    impl<T: ToHosts> ToHosts for Vec<T> {
        fn hosts(&self, net: &Net) -> Vec<Host> {
            self.as_slice().hosts(net)
        }
    }

    impl<T: ToHosts + ?Sized> ToHosts for &T {
        fn hosts(&self, net: &Net) -> Vec<Host> {
            (**self).hosts(net)
        }
    }
}
