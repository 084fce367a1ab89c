//! Putting values in the place of `${name}`.
//!
//! `${name}` stands for a defined or varied value, as text; where it is all of a string, the value keeps its type, and
//! may be a list or a table. `${name / 2}` and `${100 + name * 2}` are for numbers and quantities (see [`arithmetic`]).
//! A name may be made of others: `${stack_${series}}`. Within a group (see [`super::groups`]) `${i}` is the number of
//! the member.

use std::collections::BTreeSet;

use super::amount::Amount;
use super::arithmetic;
use super::vary::is_name;
use kumiki_config::error::{ConfigError, NameFault};
use kumiki_config::tree::{Entry, Node, Origin, Source, Value};

/// More than this is a definition that doubles itself rather than a value.
const LONGEST_TEXT: usize = 1 << 16;
/// The same for values that are lists and tables.
const MOST_NODES: usize = 1 << 18;
/// Names within names and definitions within definitions, together.
const DEEPEST: usize = 32;

/// The name that stands for the number of a member of a group.
pub(super) const NUMBER: &str = "i";

/// A varied name in a value: the value's path, the name, where what stands for it is written, and whether that is only
/// a part of a sum or product.
pub(super) type Use = (Vec<String>, String, Origin, bool);

/// The names that may be used, with their values.
pub(super) struct Expander<'a> {
    pub(super) source: Source<'a>,
    /// What is varied, with the values of this point.
    pub(super) varied: &'a [(String, Node)],
    /// What is defined.
    pub(super) defined: &'a [Entry],
    /// The names that were used.
    pub(super) used: &'a mut BTreeSet<String>,
    /// Which varied name stands in the values at which paths, and where its value is written.
    pub(super) uses: Vec<Use>,
    /// Within a group, the number of the member, which `${i}` stands for.
    pub(super) number: Option<u32>,
    nodes: usize,
    depth: usize,
    /// The names whose values are being put in, outermost first.
    open: Vec<String>,
    path: Vec<String>,
}

/// That no definition needs itself, and none doubles itself: where one does, each that is made of it would take as long
/// to find out. Whether anything uses it or not. What else is wrong with one is told where it is used.
pub(super) fn check_defined(
    source: &Source<'_>,
    varied: &[(String, Node)],
    defined: &[Entry],
) -> Result<(), ConfigError> {
    for entry in defined {
        let mut used = BTreeSet::new();
        let mut expander = Expander::new(source.clone(), varied, defined, &mut used);
        expander.number = Some(0);
        expander.open.push(entry.key.clone());
        let fault = expander.at(&["define", &entry.key], &entry.node).err();
        let is_told =
            |fault: &ConfigError| [NameFault::Circle, NameFault::Bulk].into_iter().any(|what| fault.is_of_name(what));
        if let Some(fault) = fault.filter(is_told) {
            return Err(fault);
        }
    }
    Ok(())
}

impl<'a> Expander<'a> {
    pub(super) const fn new(
        source: Source<'a>,
        varied: &'a [(String, Node)],
        defined: &'a [Entry],
        used: &'a mut BTreeSet<String>,
    ) -> Self {
        Self {
            source,
            varied,
            defined,
            used,
            uses: Vec::new(),
            number: None,
            nodes: 0,
            depth: 0,
            open: Vec::new(),
            path: Vec::new(),
        }
    }

    /// `node`, which is the value of `key`, with all names replaced.
    pub(super) fn top(&mut self, key: &str, node: &Node) -> Result<Node, ConfigError> {
        self.at(&[key], node)
    }

    /// The same of the value at `path`.
    pub(super) fn at(&mut self, path: &[&str], node: &Node) -> Result<Node, ConfigError> {
        self.path = path.iter().map(|part| (*part).to_owned()).collect();
        self.node(node)
    }

    fn node(&mut self, node: &Node) -> Result<Node, ConfigError> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            let problem = format!("more than {MOST_NODES} values once all names are replaced");
            return Err(self.fault(node, problem).of_name(NameFault::Bulk));
        }
        let value = match &node.value {
            Value::Text(text) if text.contains("${") => return self.text(node, text),
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => {
                return Ok(node.clone());
            }
            Value::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (number, item) in items.iter().enumerate() {
                    self.path.push(number.to_string());
                    list.push(self.node(item)?);
                    self.path.pop();
                }
                Value::List(list)
            }
            Value::Table(entries) => {
                let mut table = Vec::with_capacity(entries.len());
                for entry in entries {
                    self.path.push(entry.key.clone());
                    table.push(Entry { key: entry.key.clone(), at: entry.at, node: self.node(&entry.node)? });
                    self.path.pop();
                }
                Value::Table(table)
            }
        };
        Ok(Node { at: node.at, value })
    }

    fn text(&mut self, node: &Node, text: &str) -> Result<Node, ConfigError> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((expression, after)) = close(after) else {
                return Err(self.fault(node, "\"${\" without its \"}\"").expected("\"${name}\""));
            };
            let whole = out.is_empty() && before.is_empty() && after.is_empty();
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.fault(node, format!("names within names, more than {DEEPEST} deep")));
            }
            let value = self.expression(node, expression)?;
            self.depth -= 1;
            if whole {
                // The place of the use says more than that of the definition, but not more than --set.
                let at = match value.at {
                    Origin::Set(_) => value.at,
                    Origin::Line(..) => node.at,
                };
                return Ok(Node { at, ..value });
            }
            let Some(plain) = value.plain() else {
                return Err(self
                    .fault(node, format!("${{{expression}}} is {}, which can only be all of a value", value.kind())));
            };
            out.push_str(before);
            out.push_str(&plain);
            if out.len() > LONGEST_TEXT {
                return Err(
                    self.fault(node, format!("more than {LONGEST_TEXT} characters once all names are replaced"))
                );
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(Node { at: node.at, value: Value::Text(out) })
    }

    /// The value of what stands between the braces.
    fn expression(&mut self, node: &Node, expression: &str) -> Result<Node, ConfigError> {
        let inner;
        let expression = if expression.contains("${") {
            inner = self.text(node, expression)?.plain().unwrap_or_default();
            inner.as_str()
        } else {
            expression
        };
        if !arithmetic::has_operator(expression) {
            return self.value(node, expression.trim());
        }
        let before = self.uses.len();
        let (mut amounts, mut values) = (Vec::new(), Vec::new());
        let operands = arithmetic::operands(expression);
        let operands = operands.ok_or_else(|| self.fault(node, "too long to be worked out"))?;
        for operand in operands {
            let amount = match Amount::parse(operand) {
                Some(amount) => Some(amount),
                None => {
                    let value = self.value(node, operand)?;
                    let amount = value.plain().and_then(|text| Amount::parse(&text));
                    let told = format!("{operand} is {}", value.shown().unwrap_or_else(|| value.kind().to_owned()));
                    if !values.contains(&told) {
                        values.push(told);
                    }
                    amount
                }
            };
            amounts.push((operand, amount));
        }
        self.uses.iter_mut().skip(before).for_each(|(.., is_part)| *is_part = true);
        let of = |operand: &str| amounts.iter().find(|(name, _)| *name == operand).and_then(|(_, amount)| *amount);
        let result = arithmetic::evaluate(expression, &of).map_err(|why| {
            let values = if values.is_empty() { String::new() } else { format!(", as {}", values.join(" and ")) };
            let (why, expected) = why.words();
            let fault = self.fault(node, format!("${{{expression}}} cannot be worked out{values}: {why}"));
            fault.expected(expected)
        })?;
        Ok(super::vary::of_amount(result, node.at))
    }

    /// The value of a name, with the names in it replaced.
    fn value(&mut self, node: &Node, name: &str) -> Result<Node, ConfigError> {
        if let Some(number) = self.number.filter(|_| name == NUMBER) {
            return Ok(Node { at: node.at, value: Value::Integer(number.into()) });
        }
        let varied = self.varied.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        let defined = self.defined.iter().find(|e| e.key == name).map(|e| &e.node);
        let section = if varied.is_some() { "vary" } else { "define" };
        let Some(value) = varied.or(defined) else {
            return Err(self.unknown(node, name));
        };
        if self.open.iter().any(|open| open == name) {
            let round = [self.open.join(" -> ").as_str(), name].join(" -> ");
            let problem = format!("a definition that needs itself: {round}");
            return Err(self.fault(node, problem).of_name(NameFault::Circle));
        }
        self.used.insert(name.to_owned());
        if varied.is_some() && self.open.is_empty() {
            self.uses.push((self.path.clone(), name.to_owned(), value.at, false));
        }
        self.open.push(name.to_owned());
        let path = vec![section.to_owned(), name.to_owned()];
        let outer = std::mem::replace(&mut self.path, path);
        let value = self.node(value)?;
        self.path = outer;
        self.open.pop();
        Ok(value)
    }

    fn unknown(&self, node: &Node, name: &str) -> ConfigError {
        let varied = self.varied.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = varied.chain(self.defined.iter().map(|e| e.key.as_str())).collect();
        let fault = self.fault(node, format!("unknown name ${{{name}}}")).of_name(NameFault::Unknown);
        if name == NUMBER {
            return fault
                .expected("`count` in the same host, switch or link: ${i} is the number of each of its members");
        }
        if let Some((what, expected)) = arithmetic::no_name(name) {
            return self.fault(node, format!("{what} in the place of a name: {name}")).expected(expected);
        }
        if !is_name(name) && name.contains(['+', '-', '*', '/']) {
            return fault.expected("blanks around each sign, such as ${rtt / 2}");
        }
        match kumiki_config::error::nearest(name, &known) {
            Some(near) => fault.suggest(format!("${{{near}}}")),
            None if known.is_empty() => fault.expected("a name from [define] or [vary]"),
            None => fault.one_of(&known),
        }
    }

    pub(super) fn fault(&self, node: &Node, problem: impl Into<String>) -> ConfigError {
        let mut fault = ConfigError::at(&self.path, problem);
        if let Some(shown) = node.shown() {
            fault = fault.found(shown);
        }
        if let Some(place) = self.source.place(node.at) {
            fault = fault.in_place(place);
        }
        fault.in_file(self.source.file)
    }
}

/// Splits after the brace that closes what was opened before `text`.
fn close(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                let (inside, rest) = text.split_at_checked(i)?;
                return Some((inside, rest.strip_prefix('}')?));
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
