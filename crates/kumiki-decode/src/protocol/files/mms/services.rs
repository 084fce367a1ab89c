//! What services are asked for and what they give: those for variables, names and reports, entries of directories.
//!
//! Each function adds the fields of one service and returns what the line of its PDU says behind its name.

use kumiki_osi_service::mms::Service;
use kumiki_wire::Malformed;
use kumiki_wire::osi::ber::{Element, Reader, Tag};

use super::data::{self, bits, object_name, type_of};
use super::integer;
use crate::packet::Value;
use crate::protocol::osi::presentation::element;
use crate::reading::Reading;

/// Names and values that a line tells of.
const MOST_SAID: usize = 8;

/// What a line says of a list, which may be long.
#[derive(Default)]
struct ListSummary {
    text: String,
    count: usize,
}

impl ListSummary {
    fn add(&mut self, one: &str) {
        if self.count < MOST_SAID {
            let between = if self.count == 0 { "" } else { ", " };
            self.text = format!("{}{between}{one}", self.text);
        }
        self.count = self.count.saturating_add(1);
    }

    fn end(self) -> String {
        match self.count.saturating_sub(MOST_SAID) {
            0 => self.text,
            more => format!("{} and {more} more", self.text),
        }
    }
}

type Summary = Result<String, Malformed>;

/// The inside of a service that is asked for, where it is known.
pub(super) fn request(reading: &mut Reading<'_>, service: &Element<'_>) -> Option<Summary> {
    Some(match Service(service.tag().number) {
        Service::GET_NAME_LIST => name_list_wanted(reading, service),
        Service::READ => read(reading, service),
        Service::WRITE => write(reading, service),
        Service::GET_VARIABLE_ACCESS_ATTRIBUTES => attributes_wanted(reading, service),
        Service::DEFINE_NAMED_VARIABLE_LIST => define_list(reading, service),
        Service::GET_NAMED_VARIABLE_LIST_ATTRIBUTES => service.only().and_then(|it| named(reading, "name", &it)),
        Service::DELETE_NAMED_VARIABLE_LIST => delete_lists(reading, service),
        _ => return None,
    })
}

/// The inside of what a service gives, where it is known.
pub(super) fn response(reading: &mut Reading<'_>, service: &Element<'_>) -> Option<Summary> {
    Some(match Service(service.tag().number) {
        Service::GET_NAME_LIST => names(reading, service),
        Service::READ => values(reading, service),
        Service::WRITE => written(reading, service),
        Service::GET_VARIABLE_ACCESS_ATTRIBUTES => variable_attributes(reading, service),
        Service::DEFINE_NAMED_VARIABLE_LIST => service.null().map(|()| String::new()),
        Service::GET_NAMED_VARIABLE_LIST_ATTRIBUTES => list_attributes(reading, service),
        Service::DELETE_NAMED_VARIABLE_LIST => deleted(reading, service),
        Service::FILE_DIRECTORY => directory(reading, service),
        _ => return None,
    })
}

/// A name as a field and as text.
fn named(reading: &mut Reading<'_>, field: &'static str, found: &Element<'_>) -> Summary {
    let name = object_name(found)?;
    element(reading, field, found, Value::text(&name), "");
    Ok(name)
}

fn flag(reading: &mut Reading<'_>, name: &'static str, found: &Element<'_>) -> Result<bool, Malformed> {
    let flag = found.boolean()?;
    element(reading, name, found, flag, "");
    Ok(flag)
}

fn identifier(reading: &mut Reading<'_>, name: &'static str, found: &Element<'_>) -> Summary {
    let text = data::text(found)?;
    element(reading, name, found, Value::text(&text), "");
    Ok(text)
}

/// The variables of a list; of each its name, or what it has instead of one.
fn variables(reading: &mut Reading<'_>, list: &Element<'_>) -> Result<ListSummary, Malformed> {
    let mut said = ListSummary::default();
    let mut r = list.elements()?;
    while let Some(item) = r.next("listOfVariable")? {
        let mut r = item.elements()?;
        let specification = r.any("variableSpecification", "[0] name to [4] invalidated")?;
        let mut text = match specification.tag().number {
            0 => named(reading, "variable", &specification.only()?)?,
            1 => other(reading, &specification, "address"),
            2 => other(reading, &specification, "variableDescription"),
            3 => other(reading, &specification, "scatteredAccessDescription"),
            4 => other(reading, &specification, "invalidated"),
            _ => return Err(specification.is_no("[0] name to [4] invalidated")),
        };
        if let Some(access) = r.take_if(Tag::context(5), "alternateAccess")? {
            let value = Value::from(access.content());
            element(reading, "alternateAccess", &access, value, "");
            text.push_str(", a part of it");
        }
        said.add(&text);
    }
    Ok(said)
}

/// What has no name is shown as its octets.
fn other(reading: &mut Reading<'_>, found: &Element<'_>, name: &'static str) -> String {
    element(reading, name, found, Value::from(found.content()), "");
    name.to_owned()
}

/// VariableAccessSpecification.
fn access(reading: &mut Reading<'_>, found: &Element<'_>) -> Summary {
    let tag = found.tag();
    if tag == Tag::context(0) {
        variables(reading, found).map(ListSummary::end)
    } else if tag == Tag::context(1) {
        named(reading, "variableListName", &found.only()?)
    } else {
        Err(found.is_no("[0] listOfVariable or [1] variableListName"))
    }
}

fn read(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    if let Some(with) = r.take_if(Tag::context(0), "specificationWithResult")? {
        flag(reading, "specificationWithResult", &with)?;
    }
    let specification = r.take(Tag::context(1), "variableAccessSpecification")?;
    access(reading, &specification.only()?)
}

/// The results of a list, each a value or a failure.
fn results(reading: &mut Reading<'_>, r: &mut Reader<'_>) -> Result<ListSummary, Malformed> {
    let mut said = ListSummary::default();
    while let Some(one) = r.next("listOfAccessResult")? {
        said.add(&data::result(reading, &one)?);
    }
    Ok(said)
}

fn values(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    if let Some(specification) = r.take_if(Tag::context(0), "variableAccessSpecification")? {
        access(reading, &specification.only()?)?;
    }
    let list = r.take(Tag::context(1), "listOfAccessResult")?;
    results(reading, &mut list.elements()?).map(ListSummary::end)
}

fn write(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let specification = r.any("variableAccessSpecification", "[0] or [1]")?;
    let names = access(reading, &specification)?;
    let list = r.take(Tag::context(0), "listOfData")?;
    let mut said = ListSummary::default();
    let mut r = list.elements()?;
    while let Some(one) = r.next("listOfData")? {
        said.add(&data::data(reading, "data", &one)?);
    }
    Ok(format!("{names} = {}", said.end()))
}

fn written(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut said = ListSummary::default();
    let mut r = service.elements()?;
    while let Some(one) = r.next("Write-Response")? {
        if one.tag() == Tag::context(0) {
            said.add(&data::failure(reading, &one)?);
        } else if one.tag() == Tag::context(1) {
            one.null()?;
            element(reading, "success", &one, Value::text(""), "");
            said.add("success");
        } else {
            return Err(one.is_no("[0] failure or [1] success"));
        }
    }
    Ok(said.end())
}

/// The classes of objects, by number.
const CLASSES: [&str; 12] = [
    "namedVariable",
    "scatteredAccess",
    "namedVariableList",
    "namedType",
    "semaphore",
    "eventCondition",
    "eventAction",
    "eventEnrollment",
    "journal",
    "domain",
    "programInvocation",
    "operatorStation",
];

fn name_list_wanted(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let class = r.take(Tag::context(0), "objectClass")?.only()?;
    let number = class.integer()?;
    let known = usize::try_from(number).ok().and_then(|it| CLASSES.get(it));
    let name = known.map_or_else(|| format!("class {number}"), |name| (*name).to_owned());
    element(reading, "objectClass", &class, integer(number), &name);
    let scope = r.take(Tag::context(1), "objectScope")?.only()?;
    let scope_of = match scope.tag().number {
        0 => "vmdSpecific".to_owned(),
        1 => format!("of {}", data::text(&scope)?),
        2 => "aaSpecific".to_owned(),
        _ => return Err(scope.is_no("[0] vmdSpecific, [1] domainSpecific or [2] aaSpecific")),
    };
    element(reading, "objectScope", &scope, Value::text(&scope_of), "");
    let mut said = format!("{name} {scope_of}");
    if let Some(after) = r.take_if(Tag::context(2), "continueAfter")? {
        let after = identifier(reading, "continueAfter", &after)?;
        said = format!("{said} behind {after}");
    }
    Ok(said)
}

fn names(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let mut said = ListSummary::default();
    let mut list = r.take(Tag::context(0), "listOfIdentifier")?.elements()?;
    while let Some(name) = list.next("listOfIdentifier")? {
        said.add(&identifier(reading, "identifier", &name)?);
    }
    let more = match r.take_if(Tag::context(1), "moreFollows")? {
        Some(more) => flag(reading, "moreFollows", &more)?,
        None => true,
    };
    Ok(and_more(said.end(), more))
}

fn and_more(said: String, more: bool) -> String {
    if more { said + ", more follows" } else { said }
}

fn attributes_wanted(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let which = service.only()?;
    match which.tag().number {
        0 => named(reading, "name", &which.only()?),
        _ => Ok(other(reading, &which, "address")),
    }
}

fn variable_attributes(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let deletable = r.take(Tag::context(0), "mmsDeletable")?;
    flag(reading, "mmsDeletable", &deletable)?;
    if let Some(address) = r.take_if(Tag::context(1), "address")? {
        other(reading, &address, "address");
    }
    let of = r.take(Tag::context(2), "typeSpecification")?.only()?;
    let text = type_of(&of)?;
    element(reading, "typeSpecification", &of, Value::text(&text), "");
    Ok(text)
}

fn define_list(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let name = r.any("variableListName", "an ObjectName")?;
    let name = named(reading, "variableListName", &name)?;
    let list = r.take(Tag::context(0), "listOfVariable")?;
    let of = variables(reading, &list)?.end();
    Ok(format!("{name} of {of}"))
}

fn list_attributes(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let deletable = r.take(Tag::context(0), "mmsDeletable")?;
    flag(reading, "mmsDeletable", &deletable)?;
    let list = r.take(Tag::context(1), "listOfVariable")?;
    variables(reading, &list).map(ListSummary::end)
}

fn delete_lists(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let mut said = ListSummary::default();
    if let Some(scope) = r.take_if(Tag::context(0), "scopeOfDelete")? {
        let number = scope.integer()?;
        let name = match number {
            0 => "specific",
            1 => "aa-specific",
            2 => "domain",
            3 => "vmd",
            _ => "",
        };
        element(reading, "scopeOfDelete", &scope, integer(number), name);
    }
    if let Some(list) = r.take_if(Tag::context(1), "listOfVariableListName")? {
        let mut r = list.elements()?;
        while let Some(name) = r.next("listOfVariableListName")? {
            said.add(&named(reading, "variableListName", &name)?);
        }
    }
    if let Some(domain) = r.take_if(Tag::context(2), "domainName")? {
        said.add(&identifier(reading, "domainName", &domain)?);
    }
    Ok(said.end())
}

fn deleted(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let mut counts = [0; 2];
    let names = ["numberMatched", "numberDeleted"];
    for ((tag, name), count) in (0..).zip(names).zip(&mut counts) {
        let found = r.take(Tag::context(tag), name)?;
        *count = found.integer()?;
        element(reading, name, &found, integer(*count), "");
    }
    let [matched, deleted] = counts;
    Ok(format!("{deleted} of {matched} deleted"))
}

/// The entries of a directory: their names stand in the line, which already says how many they are.
fn directory(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let list = r.take(Tag::context(0), "listOfDirectoryEntry")?;
    let mut entries = list.elements()?;
    let mut said = ListSummary::default();
    while let Some(found) = entries.next("DirectoryEntry")? {
        // The tag is explicit, which some take for an implicit one: then the entries follow at once.
        if found.elements()?.peek() == Some(Tag::SEQUENCE) {
            let mut inner = found.elements()?;
            while let Some(found) = inner.next("DirectoryEntry")? {
                said.add(&entry(reading, &found)?);
            }
        } else if !found.content().is_empty() {
            said.add(&entry(reading, &found)?);
        }
    }
    let more = match r.take_if(Tag::context(1), "moreFollows")? {
        Some(more) => flag(reading, "moreFollows", &more)?,
        None => false,
    };
    let said = and_more(said.end(), more);
    Ok(if said.is_empty() { said } else { format!("({said})") })
}

fn entry(reading: &mut Reading<'_>, found: &Element<'_>) -> Summary {
    let mut r = found.elements()?;
    let mut parts = r.take(Tag::context(0), "filename")?.elements()?;
    let mut name = String::new();
    while let Some(part) = parts.next("FileName")? {
        let between = if name.is_empty() { "" } else { "/" };
        name = format!("{name}{between}{}", data::text(&part)?);
        element(reading, "filename", &part, Value::text(&name), "");
    }
    let attributes = r.take(Tag::context(1), "fileAttributes")?;
    super::attributes(reading, &attributes)?;
    Ok(name)
}

/// What the results of a report of IEC 61850-8-1 are, by the bits of OptFlds.
fn of_report(fields: &str, inclusion: Option<&str>) -> Vec<&'static str> {
    let has = |at: usize| fields.as_bytes().get(at) == Some(&b'1');
    let mut names = vec!["RptID", "OptFlds"];
    for (bits, name) in [
        (1, "SqNum"),
        (2, "TimeOfEntry"),
        (4, "DatSet"),
        (6, "BufOvfl"),
        (7, "EntryID"),
        (8, "ConfRev"),
        (9, "SubSqNum"),
        (9, "MoreSegmentsFollow"),
    ] {
        if has(bits) {
            names.push(name);
        }
    }
    names.push("Inclusion");
    if let Some(inclusion) = inclusion {
        let members = inclusion.bytes().filter(|bit| *bit == b'1').count();
        for (here, name) in [(has(5), "DataReference"), (true, "Value"), (has(3), "ReasonCode")] {
            if here {
                names.extend(std::iter::repeat_n(name, members));
            }
        }
    }
    names
}

/// Why a member of a data set is in a report, by the bits of ReasonCode.
const REASONS: [(usize, &str); 5] =
    [(1, "data-change"), (2, "quality-change"), (3, "data-update"), (4, "integrity"), (5, "general-interrogation")];

/// informationReport. Results of a list called RPT are those of a report of IEC 61850, and have names of their own.
pub(super) fn report(reading: &mut Reading<'_>, service: &Element<'_>) -> Summary {
    let mut r = service.elements()?;
    let specification = r.any("variableAccessSpecification", "[0] or [1]")?;
    let name = access(reading, &specification)?;
    let list = r.take(Tag::context(0), "listOfAccessResult")?;
    let mut all = Vec::new();
    let mut inside = list.elements()?;
    while let Some(one) = inside.next("listOfAccessResult")? {
        all.push(one);
    }
    let names = if specification.tag() == Tag::context(1) && name == "RPT" { report_names(&all) } else { None };
    let Some(names) = names else {
        return results(reading, &mut list.elements()?).map(|said| format!("{name}: {}", said.end()));
    };
    let (mut said, mut values, mut reasons) = (ListSummary::default(), ListSummary::default(), Vec::new());
    for (one, name) in all.iter().zip(names) {
        let failed = one.tag() == Tag::context(0);
        let text = if failed { data::failure(reading, one)? } else { data::data(reading, name, one)? };
        match name {
            "Value" => values.add(&text),
            "ReasonCode" => {
                let is = |at: &usize| text.as_bytes().get(*at) == Some(&b'1');
                let why = REASONS.iter().filter(|(at, _)| is(at));
                let why: Vec<&str> = why.map(|(_, why)| *why).collect();
                let why = why.join(" and ");
                if let Some(field) = reading.layer.fields.last_mut() {
                    field.meaning = Some(why.clone());
                }
                if !reasons.contains(&why) {
                    reasons.push(why);
                }
            }
            "OptFlds" | "Inclusion" | "DataReference" => {}
            "RptID" => said.add(&text),
            _ => said.add(&format!("{name} {text}")),
        }
    }
    let mut said = format!("{name} {}: {}", said.end(), values.end());
    if !reasons.is_empty() {
        said = format!("{said} ({})", reasons.join(", "));
    }
    Ok(said)
}

/// The names of the results of a report, where these are as many as its first fields say.
fn report_names(all: &[Element<'_>]) -> Option<Vec<&'static str>> {
    let fields = bits(all.get(1)?).ok()?;
    let before = of_report(&fields, None);
    let inclusion = bits(all.get(before.len().checked_sub(1)?)?).ok()?;
    let names = of_report(&fields, Some(&inclusion));
    (names.len() == all.len()).then_some(names)
}

/// A service that is not known further: a field for each value in it, as it can be read.
pub(super) fn leaves(reading: &mut Reading<'_>, found: &Element<'_>) -> Result<(), Malformed> {
    if !found.is_constructed() {
        return Ok(());
    }
    let mut r = found.elements()?;
    while let Some(one) = r.next("a field")? {
        if one.is_constructed() {
            leaves(reading, &one)?;
            continue;
        }
        let content = one.content();
        let shown = content.len() > 1 && content.iter().all(|octet| matches!(octet, b' '..=b'~'));
        let value = if shown { Value::text(String::from_utf8_lossy(content)) } else { Value::from(content) };
        element(reading, "value", &one, value, one.tag());
    }
    Ok(())
}
