//! What a user of the file service wants to have done.

use kumiki_graph::{Credit, Handle, Request, Service};
use kumiki_octets::Message;
use kumiki_osi_service::ftam::{Fpdu, Primitive};

use crate::ftam::{self, Ftam};
use crate::node::FileProtocol;

/// One request or response to the provider, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send this.
    Say(Primitive),
    /// Send one data element. There was credit for it.
    Data(Message),
    /// Grant the peer so many more data elements.
    Grant(u32),
}

impl From<Fpdu> for Action {
    fn from(fpdu: Fpdu) -> Self {
        Self::Say(Primitive::Pdu(fpdu))
    }
}

impl FileProtocol for Ftam {
    type Primitive = Primitive;
    type Action = Action;
    const SERVICE: Service = ftam::SERVICE;
    const FOREIGN: &'static str = "not of the file service";

    fn request(session: Handle, wish: Action) -> Request {
        match wish {
            Action::Say(primitive) => Request::special(session, primitive),
            Action::Data(data) => Request::Data { session, data, end: true },
            Action::Grant(messages) => Request::Credit { session, credit: Credit::messages(messages) },
        }
    }
}
