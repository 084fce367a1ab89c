//! Bulk data: reading, writing, checkpoints, cancelling, restarting.
//!
//! F-READ and F-WRITE have no response, so what is against them is said by F-CANCEL.

use kumiki_octets::Message;
use kumiki_osi_service::ftam::access::{AccessContext, FaduIdentity, FaduOperation};
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::bulk::{Cancel, DataEnd, ReadRequest, Restart, TransferEndResponse, WriteRequest};
use kumiki_osi_service::ftam::contents::{ContentsType, DocumentParameter};
use kumiki_osi_service::ftam::data::{DataElement, NodeDescriptor, StructuringElement};
use kumiki_osi_service::ftam::file::RecoveryMode;
use kumiki_osi_service::ftam::{
    AccessRequest, AttributeNames, CalendarTime, Fpdu, FunctionalUnits, GraphicString, Primitive, ProcessingMode,
};

use super::super::guard::Interrupted;
use super::super::newlines::{self, Point};
use super::super::{Action, FileId, Form, Guard, Lengths, Name, Start, StoreError};
use super::Responder;
use super::audit::words;
use super::files::{said, whole};

/// The most checkpoints of one transfer.
const MOST_CHECKPOINTS: usize = 1 << 20;

/// What is left of a transfer that is recovered.
#[derive(Clone, Debug)]
pub(super) struct Resumed {
    /// What is being read or written; none for a directory.
    pub(super) file: Option<FileId>,
    /// It was being written.
    pub(super) writes: bool,
    /// Where checkpoints are, up to the one from which it goes on.
    pub(super) points: Vec<Point>,
    /// Where it began.
    pub(super) begin: u64,
}

/// A transfer.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Where in the file it is; in a directory, at which entry.
    at: Point,
    begin: u64,
    /// Where each checkpoint is, from 1 on.
    points: Vec<Point>,
    /// The last one answered.
    secured: usize,
    /// F-DATA-END has been sent, or has come.
    ended: bool,
    what: TransferKind,
}

#[derive(Debug)]
enum TransferKind {
    /// Sends a file.
    Reading {
        file: FileId,
        /// A node descriptor goes before each string, if so; and whether that of the next one has gone.
        nodes: Option<bool>,
    },
    /// Sends a directory: of what has these names in it, the attributes that are wanted.
    Listing { directory: Name, names: Vec<GraphicString>, wanted: AttributeNames },
    /// Takes a file.
    Writing { file: FileId },
}

impl Transfer {
    fn at(begin: u64, points: Vec<Point>, what: TransferKind) -> Self {
        let mut it = Self { at: Point::default(), begin, secured: points.len(), points, ended: false, what };
        it.at = it.last_point();
        it
    }

    /// The last checkpoint, or the start.
    fn last_point(&self) -> Point {
        self.points.last().copied().unwrap_or(Point { octets: self.begin, cr: false })
    }

    const fn file(&self) -> Option<FileId> {
        match &self.what {
            TransferKind::Reading { file, .. } | TransferKind::Writing { file } => Some(*file),
            TransferKind::Listing { .. } => None,
        }
    }

    /// Goes back to a checkpoint, 0 being the start.
    fn back_to(&mut self, point: usize) {
        self.points.truncate(point);
        self.at = self.last_point();
        // Who names a checkpoint has what came before it.
        self.secured = point;
        self.ended = false;
        match &mut self.what {
            TransferKind::Reading { nodes, .. } => *nodes = nodes.map(|_| false),
            TransferKind::Listing { .. } | TransferKind::Writing { .. } => {}
        }
    }
}

impl Responder {
    pub(super) fn close_transfer(&mut self, guard: &mut Guard) {
        if let Some(file) = self.transfer.take().and_then(|transfer| transfer.file()) {
            guard.store().close(file);
        }
    }

    /// Keeps what can be recovered, when the association breaks: a transfer, or one that was to be gone on with.
    pub(super) fn keep(&mut self, guard: &mut Guard) {
        let (Some(opened), Some(selected)) = (&mut self.opened, self.selected) else {
            return;
        };
        let (RecoveryMode::AtAnyActiveCheckpoint, Some(activity)) = (opened.recovery, opened.activity) else {
            return;
        };
        let (resumed, octets) = match (self.transfer.take(), opened.resumed.take()) {
            (Some(transfer), _) => {
                let resumed = Resumed {
                    file: transfer.file(),
                    writes: matches!(transfer.what, TransferKind::Writing { .. }),
                    points: transfer.points,
                    begin: transfer.begin,
                };
                (resumed, transfer.at.octets.saturating_sub(transfer.begin))
            }
            (None, Some(resumed)) => {
                let end = resumed.points.last();
                let end = end.map_or(resumed.begin, |end| end.octets);
                let octets = end.saturating_sub(resumed.begin);
                (resumed, octets)
            }
            (None, None) => return,
        };
        let Resumed { file, writes, points, begin } = resumed;
        if writes && octets == 0 {
            // There is nothing to go on with, and its locks stand in the way of others.
            if let Some(file) = file {
                guard.store().close(file);
            }
            return;
        }
        let is_kept = guard.interrupt(Interrupted {
            user: self.user.clone(),
            activity,
            selection: selected.selection,
            is_new: selected.is_new,
            contents_type: opened.contents_type.clone(),
            mode: opened.mode,
            file,
            writes,
            checkpoints: points,
            begin,
        });
        if is_kept {
            self.selected = None;
        }
    }

    pub(super) fn on_read(
        &mut self,
        request: &ReadRequest,
        now: CalendarTime,
        guard: &mut Guard,
        out: &mut Vec<Action>,
    ) {
        match self.begin_reading(request, now, guard) {
            Ok(transfer) => {
                self.transfer = Some(transfer);
                self.pump(guard, out);
            }
            Err(fault) => self.cancel(&fault, guard, out),
        }
    }

    fn begin_reading(
        &mut self,
        request: &ReadRequest,
        now: CalendarTime,
        guard: &mut Guard,
    ) -> Result<Transfer, StoreError> {
        let name = guard.may(self.selection()?, AccessRequest::READ)?.clone();
        let names = self.names();
        let opened = self.opened.as_mut();
        let opened = opened.ok_or_else(|| StoreError::permanent(5039, "the file is not open"))?;
        if !opened.mode.contains(ProcessingMode::READ) {
            return Err(StoreError::permanent(5017, "the file is not open for reading"));
        }
        whole(&request.fadu_identity)?;
        let nodes = match (request.access_context, opened.form) {
            (AccessContext::UnstructuredAll, _) => None,
            (AccessContext::FlatAll, Form::Records(_)) => Some(false),
            (other, _) => return Err(StoreError::permanent(5025, other.to_string())),
        };
        if opened.form == Form::Directory {
            let wanted = match &opened.contents_type {
                ContentsType::Document { parameter: Some(DocumentParameter::Attributes(wanted)), .. } => *wanted,
                ContentsType::Document { .. } | ContentsType::ConstraintSet { .. } => names,
            };
            // Entries without a name are of no use, whatever the parameter says.
            let wanted = (wanted & names) | AttributeNames::PATHNAME;
            let names = guard.list(&self.user, &name, self.config.entries)?;
            let what = TransferKind::Listing { directory: name, names, wanted };
            return Ok(Transfer::at(0, Vec::new(), what));
        }
        if let Some(Resumed { file: Some(file), points, begin, .. }) = opened.resumed.take_if(|it| !it.writes) {
            return Ok(Transfer::at(begin, points, TransferKind::Reading { file, nodes }));
        }
        if opened.resumed.is_some() {
            return Err(StoreError::permanent(5017, "the file was being written"));
        }
        guard.empty(self.selection()?)?;
        let (file, _) = guard.store().read_from(&self.user, &name, now)?;
        let what = TransferKind::Reading { file, nodes };
        Ok(Transfer::at(0, Vec::new(), what))
    }

    pub(super) fn on_write(&mut self, request: &WriteRequest, guard: &mut Guard, out: &mut Vec<Action>) {
        match self.begin_writing(request, guard) {
            Ok(transfer) => self.transfer = Some(transfer),
            Err(fault) => self.cancel(&fault, guard, out),
        }
    }

    fn begin_writing(&mut self, request: &WriteRequest, guard: &mut Guard) -> Result<Transfer, StoreError> {
        let selection = self.selection()?;
        let opened = self.opened.as_mut();
        let opened = opened.ok_or_else(|| StoreError::permanent(5039, "the file is not open"))?;
        let records = matches!(opened.form, Form::Records(_));
        let (mode, access, start) = match request.fadu_operation {
            FaduOperation::Insert if records => (ProcessingMode::INSERT, AccessRequest::INSERT, Start::Extend),
            FaduOperation::Insert => {
                return Err(StoreError::permanent(5011, "the file has one data unit"));
            }
            FaduOperation::Replace => (ProcessingMode::REPLACE, AccessRequest::REPLACE, Start::Replace),
            FaduOperation::Extend if records => {
                return Err(StoreError::permanent(5016, "records are inserted, not extended"));
            }
            FaduOperation::Extend => (ProcessingMode::EXTEND, AccessRequest::EXTEND, Start::Extend),
        };
        let name = guard.may(selection, access)?.clone();
        if !opened.mode.contains(mode) {
            return Err(StoreError::permanent(5017, format!("not open for {mode}")));
        }
        match (&request.fadu_identity, start) {
            (FaduIdentity::End, Start::Extend) => {}
            (identity, _) => whole(identity)?,
        }
        if let Some(Resumed { file: Some(file), points, begin, .. }) = opened.resumed.take_if(|it| it.writes) {
            return Ok(Transfer::at(begin, points, TransferKind::Writing { file }));
        }
        if opened.resumed.is_some() {
            return Err(StoreError::permanent(5017, "the file was being read"));
        }
        // There is nothing to extend in what F-CREATE has overridden, and until this is committed the old contents
        // stay.
        let start = if guard.is_to_be_emptied(selection) { Start::Replace } else { start };
        let (file, begin) = guard.store().write_to(&self.user, &name, start)?;
        Ok(Transfer::at(begin, Vec::new(), TransferKind::Writing { file }))
    }

    /// Sends as much as there is credit for.
    pub(super) fn pump(&mut self, guard: &mut Guard, out: &mut Vec<Action>) {
        if self.cancelling.is_some() {
            return;
        }
        while self.credit > 0 {
            match self.next_element(guard, out) {
                Ok(true) => self.credit -= 1,
                Ok(false) => return,
                Err(fault) => {
                    self.cancel(&fault, guard, out);
                    return;
                }
            }
        }
    }

    /// The next data element, if there is one, and what goes before or behind it.
    fn next_element(&mut self, guard: &mut Guard, out: &mut Vec<Action>) -> Result<bool, StoreError> {
        let (Some(transfer), Some(opened)) = (&mut self.transfer, &self.opened) else {
            return Ok(false);
        };
        let window = usize::try_from(self.agreed.window).unwrap_or(usize::MAX);
        if transfer.ended || transfer.points.len() - transfer.secured >= window {
            return Ok(false);
        }
        let last = transfer.last_point();
        let checks = FunctionalUnits::RECOVERY | FunctionalUnits::RESTART_DATA_TRANSFER;
        let checked = !(self.agreed.units & checks).is_empty();
        let (file, nodes) = match &mut transfer.what {
            TransferKind::Writing { .. } => return Ok(false),
            TransferKind::Listing { directory, names, wanted } => {
                while let Some(last) = usize::try_from(transfer.at.octets).ok().and_then(|at| names.get(at)) {
                    transfer.at.octets += 1;
                    let Some(found) = guard.entry(&self.user, directory, last)? else {
                        continue;
                    };
                    let entry = ReadAttributes {
                        // As ISODE does it: a name that can be selected.
                        pathname: Some(self.called.with(last)),
                        ..found
                    };
                    let entry = self.agreed.told(entry).complete(*wanted).only(*wanted);
                    let element = DataElement::Entry(Box::new(entry));
                    out.push(Action::Say(Primitive::Data(element)));
                    return Ok(true);
                }
                transfer.ended = true;
                out.push(Fpdu::DataEndRequest(Box::default()).into());
                return Ok(false);
            }
            TransferKind::Reading { file, nodes } => (*file, nodes),
        };
        let store = guard.store();
        let lengths = Lengths::of(&opened.contents_type);
        let longest = lengths.longest(self.config.element);
        let read = |offset, most| store.read(file, offset, most);
        let string = if opened.has_local_newlines {
            newlines::string_at(transfer.at, longest, read)?
        } else {
            let octets = transfer.at.octets;
            let string = opened.form.string_at(octets, longest, read)?;
            string.map(|(string, len)| {
                let octets = octets.saturating_add(len);
                (string, Point { octets, cr: false })
            })
        };
        let Some((string, end)) = string else {
            transfer.ended = true;
            out.push(Fpdu::DataEndRequest(Box::default()).into());
            return Ok(false);
        };
        let fits = lengths.check(string.len());
        fits.map_err(|why| StoreError::permanent(5001, why))?;
        if *nodes == Some(false) {
            let node = StructuringElement::Node(NodeDescriptor::default());
            out.push(Action::Say(Primitive::Data(DataElement::Structuring(node))));
            *nodes = Some(true);
            return Ok(true);
        }
        *nodes = nodes.map(|_| false);
        transfer.at = end;
        out.push(match opened.form {
            Form::Records(class) => {
                let octets = string;
                Action::Say(Primitive::Data(DataElement::Text { class, octets }))
            }
            Form::Octets | Form::Text(_) | Form::Lines(_) | Form::Directory => Action::Data(string),
        });
        let behind = transfer.at.octets.saturating_sub(last.octets);
        let due = behind >= self.config.checkpoint_every.max(1);
        if checked && due && transfer.points.len() < MOST_CHECKPOINTS {
            transfer.points.push(transfer.at);
            let identifier = u32::try_from(transfer.points.len()).unwrap_or(u32::MAX);
            out.push(Action::Say(Primitive::Check { identifier }));
        }
        Ok(true)
    }

    pub(super) fn on_element(&mut self, element: DataElement, guard: &mut Guard, out: &mut Vec<Action>) {
        let form = self.opened.as_ref().map(|opened| opened.form);
        match (element, form) {
            (DataElement::Octets(data), Some(Form::Octets)) => self.on_string(data, guard, out),
            (DataElement::Text { class, octets }, Some(form)) if form.class() == Some(class) => {
                self.on_string(octets, guard, out);
            }
            (DataElement::Structuring(StructuringElement::Node(_)), Some(Form::Records(_))) => {}
            _ => self.cancel_writing(&StoreError::permanent(5014, ""), guard, out),
        }
    }

    pub(super) fn on_string(&mut self, string: Message, guard: &mut Guard, out: &mut Vec<Action>) {
        let (Some(transfer), Some(opened)) = (&mut self.transfer, &self.opened) else {
            // Of a transfer that this side has cancelled.
            return;
        };
        let TransferKind::Writing { file } = transfer.what else {
            return;
        };
        let fits = Lengths::of(&opened.contents_type).check(string.len());
        let (data, end) = if opened.has_local_newlines {
            newlines::localised(transfer.at, &string)
        } else {
            let data = opened.form.stored(string);
            let octets = transfer.at.octets.saturating_add(data.len() as u64);
            (data, Point { octets, cr: false })
        };
        let size = end.octets.saturating_add(end.cr.into());
        let done = if let Err(why) = fits {
            Err(StoreError::permanent(5001, why))
        } else if let Some(most) = self.config.longest_file.filter(|most| size > *most) {
            Err(StoreError::too_long(most))
        } else if data.is_empty() {
            Ok(())
        } else {
            guard.store().write(file, transfer.at.octets, data)
        };
        match done {
            Ok(()) => transfer.at = end,
            Err(fault) => self.cancel_writing(&fault, guard, out),
        }
    }

    fn cancel_writing(&mut self, fault: &StoreError, guard: &mut Guard, out: &mut Vec<Action>) {
        if self.transfer.is_some() {
            self.cancel(fault, guard, out);
        }
    }

    fn cancel(&mut self, fault: &StoreError, guard: &mut Guard, out: &mut Vec<Action>) {
        self.close_transfer(guard);
        self.cancelled();
        let selected = self.selected.and_then(|it| guard.name(it.selection).cloned());
        let name = selected.map(|name| name.to_string()).unwrap_or_default();
        let why = words(&[fault.diagnostic()]);
        let lists = self.opened.as_ref().is_some_and(|opened| opened.form == Form::Directory);
        guard.refused(if lists { "list" } else { "transfer" }, &name, &why);
        self.cancelling = Some(fault.clone());
        let cancel =
            Cancel { action_result: fault.result(), diagnostic: vec![fault.diagnostic()], ..Cancel::default() };
        out.push(Fpdu::CancelRequest(Box::new(cancel)).into());
    }

    /// A transfer came to nothing: so did what F-CREATE said of the file's old contents.
    pub(super) const fn cancelled(&mut self) {
        if let Some(selected) = &mut self.selected {
            selected.is_cancelled = true;
        }
    }

    pub(super) fn on_cancel(&mut self, guard: &mut Guard, out: &mut Vec<Action>) {
        self.close_transfer(guard);
        self.cancelled();
        out.push(Fpdu::CancelResponse(Box::default()).into());
    }

    pub(super) fn on_data_end(&mut self, _: &DataEnd) {
        if let Some(transfer) = &mut self.transfer {
            transfer.ended = true;
        }
    }

    pub(super) fn on_transfer_end(&mut self, now: CalendarTime, guard: &mut Guard, out: &mut Vec<Action>) {
        if let Some(fault) = self.cancelling.take() {
            // The provider had it before the request to cancel, which it has not sent then: had it, this would not have
            // come up.
            let (action_result, diagnostic) = said(Err(fault));
            let response = TransferEndResponse { action_result, diagnostic, ..TransferEndResponse::default() };
            out.push(Fpdu::TransferEndResponse(Box::new(response)).into());
            return;
        }
        let Some(transfer) = self.transfer.take().filter(|transfer| transfer.ended) else {
            self.abort(StoreError::permanent(1008, "F-TRANSFER-END request"), guard, out);
            return;
        };
        let done = match transfer.what {
            TransferKind::Reading { file, .. } => {
                guard.store().close(file);
                Ok(())
            }
            TransferKind::Listing { .. } => Ok(()),
            TransferKind::Writing { file } => {
                let done = self.commit(file, transfer.at, now, guard);
                if done.is_err() {
                    self.cancelled();
                }
                done
            }
        };
        let (action_result, diagnostic) = said(done);
        let response = TransferEndResponse { action_result, diagnostic, ..TransferEndResponse::default() };
        out.push(Fpdu::TransferEndResponse(Box::new(response)).into());
    }

    /// What was written up to `end` takes the place of the file.
    fn commit(&mut self, file: FileId, end: Point, now: CalendarTime, guard: &mut Guard) -> Result<(), StoreError> {
        let held: &[u8] = if end.cr { b"\r" } else { b"" };
        // What was written behind a checkpoint to which both went back is not of it.
        let written = guard.store().write(file, end.octets, Message::from_octets(held));
        if let Err(fault) = written {
            guard.store().close(file);
            return Err(fault);
        }
        guard.store().commit(&self.user, file, now)?;
        if let Some(selected) = &mut self.selected {
            (selected.is_new, selected.is_cancelled) = (false, false);
            guard.replaced(selected.selection);
        }
        Ok(())
    }

    pub(super) fn on_check(&mut self, identifier: u32, out: &mut Vec<Action>) {
        let Some(transfer) = &mut self.transfer else {
            return;
        };
        let next = transfer.points.len() + 1;
        // Numbers are the provider's; one that is out of step cannot be gone back to, and is not secured.
        if usize::try_from(identifier) == Ok(next) && next <= MOST_CHECKPOINTS {
            transfer.points.push(transfer.at);
            transfer.secured = next;
            out.push(Action::Say(Primitive::CheckReply { identifier }));
        }
    }

    pub(super) fn on_check_reply(&mut self, identifier: u32) {
        if let Some(transfer) = &mut self.transfer {
            let secured = usize::try_from(identifier).unwrap_or(usize::MAX);
            let secured = secured.min(transfer.points.len());
            transfer.secured = transfer.secured.max(secured);
        }
    }

    pub(super) fn on_restart(&mut self, restart: &Restart, guard: &mut Guard, out: &mut Vec<Action>) {
        if self.cancelling.is_some() {
            return;
        }
        let Some(transfer) = &mut self.transfer else {
            self.abort(StoreError::permanent(1008, "F-RESTART request"), guard, out);
            return;
        };
        let wanted = usize::try_from(restart.checkpoint_identifier).unwrap_or(usize::MAX);
        let sends = !matches!(transfer.what, TransferKind::Writing { .. });
        if wanted > transfer.points.len() && sends {
            self.cancel(&StoreError::permanent(6000, ""), guard, out);
            return;
        }
        // Who takes may go back further than it is asked for: to what it has.
        let point = wanted.min(transfer.points.len());
        transfer.back_to(point);
        let response =
            Restart { checkpoint_identifier: i64::try_from(point).unwrap_or(i64::MAX), ..Restart::default() };
        out.push(Fpdu::RestartResponse(Box::new(response)).into());
        self.pump(guard, out);
    }
}
