//! From a tree to a Rust value through serde, so that an error knows the path and the place of the value.

use std::fmt;

use kumiki_settings::Described;
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer as _, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::{ConfigError, nearest};
use crate::hints;
use crate::refusal::{as_whole, wanted_whole, worded};
use crate::tree::{Entry, Node, Origin, Source, Value};

/// What a number alone lacks.
const WITH_UNIT: &str = "a string, with a unit where that is a quantity: \"20 ms\"";

/// Why a value is not of the wanted type.
#[derive(Debug)]
pub struct Problem {
    /// Innermost part first.
    path: Vec<String>,
    at: Option<Origin>,
    text: String,
    advice: Option<Box<Advice>>,
}

/// What would be right.
#[derive(Debug, Default)]
struct Advice {
    expected: Option<String>,
    known: &'static [&'static str],
    suggestion: Option<String>,
    /// The key that is not there.
    missing: Option<&'static str>,
}

impl Problem {
    fn new(text: String) -> Self {
        Self { path: Vec::new(), at: None, text, advice: None }
    }

    fn expecting(text: String, expected: String) -> Self {
        Self { advice: Some(Box::new(Advice { expected: Some(expected), ..Advice::default() })), ..Self::new(text) }
    }

    fn inside(mut self, part: impl Into<String>, at: Origin) -> Self {
        self.path.push(part.into());
        self.at.get_or_insert(at);
        self
    }

    /// As a fault of `source`, whose value at `above` was read.
    #[must_use]
    pub fn fault(mut self, source: &Source<'_>, above: &[&str]) -> ConfigError {
        self.path.extend(above.iter().rev().map(|part| (*part).to_owned()));
        self.path.reverse();
        let mut fault = ConfigError::at(&self.path, self.text);
        let example = |path: &[String]| source.keys.described(path).map(|key| key.example);
        let advice = self.advice.map(|advice| *advice).unwrap_or_default();
        if let Some(expected) = advice.expected {
            // What is to be a table or a list is grasped by one.
            let of_table =
                example(&self.path).filter(|_| ["a table", "a list"].iter().any(|it| expected.starts_with(it)));
            // A quantity by one of its own kind.
            let quantity = example(&self.path).filter(|it| it.starts_with('"'));
            let expected = match quantity.filter(|_| expected == WITH_UNIT) {
                Some(own) => expected.replace("\"20 ms\"", own),
                None => expected,
            };
            fault = match (of_table, self.path.last()) {
                (Some(example), Some(key)) => fault.expected(format!("{expected}, such as {key} = {example}")),
                _ => fault.expected(expected),
            };
        }
        if let Some(missing) = advice.missing {
            let own: Vec<String> = self.path.iter().cloned().chain([missing.to_owned()]).collect();
            // Which may be there by another name, or as what is a key of another table.
            let strange = source.keys.strange(source.root, &self.path);
            if let Some(key) = strange.iter().find(|key| nearest(key, &[missing]).is_some()).or_else(|| strange.first())
            {
                fault = fault.besides(format!(", and there is {key:?}")).suggest_if(nearest(key, &[missing]));
            }
            if let Some(Described { is, example, .. }) = source.keys.described(&own) {
                fault = fault.expected(format!("{is}, such as {missing} = {example}"));
            }
        }
        if !advice.known.is_empty() {
            fault = fault.one_of(advice.known);
        }
        if let Some(suggestion) = advice.suggestion {
            fault = fault.suggest(suggestion);
        }
        if let Some(place) = self.at.and_then(|at| source.place(at)) {
            fault = fault.in_place(place);
        }
        source.locate(fault)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::new(text.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        let is_number = matches!(
            found,
            Unexpected::Signed(_) | Unexpected::Unsigned(_) | Unexpected::Float(_) | Unexpected::Bool(_)
        );
        let expected = match wanted.to_string().as_str() {
            "a string" if is_number => WITH_UNIT.to_owned(),
            wanted => worded(wanted),
        };
        let mut problem = Self::expecting(format!("this is {}", spoken(found)), expected);
        if let (Unexpected::Float(x), Some(advice)) = (found, &mut problem.advice)
            && let Some(range) = wanted_whole(&wanted.to_string())
        {
            advice.suggestion = as_whole(x, &range);
        }
        problem
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        let text = format!("{} is out of range", spoken(found));
        Self::expecting(text, worded(&wanted.to_string()))
    }

    fn invalid_length(found: usize, wanted: &dyn Expected) -> Self {
        let values = if found == 1 { "1 value".to_owned() } else { format!("{found} values") };
        Self::expecting(values, worded(&wanted.to_string()))
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        Self {
            advice: Some(Box::new(Advice {
                known,
                suggestion: nearest(found, known).map(hints::with_others),
                ..Advice::default()
            })),
            ..Self::new(format!("unknown key {found:?}"))
        }
    }

    fn missing_field(name: &'static str) -> Self {
        Self {
            advice: Some(Box::new(Advice { missing: Some(name), ..Advice::default() })),
            ..Self::new(format!("the key {name:?} is missing"))
        }
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::new(format!("the key {name:?} is there twice"))
    }
}

fn spoken(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(_) => "a string".to_owned(),
        Unexpected::Signed(_) | Unexpected::Unsigned(_) => format!("the {found}").replace('`', ""),
        // With its decimal point, which may be what is wrong.
        Unexpected::Float(x) => format!("the number {x:?}"),
        Unexpected::Bool(on) => on.to_string(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        // Not in TOML.
        Unexpected::Char(_)
        | Unexpected::Bytes(_)
        | Unexpected::Unit
        | Unexpected::Option
        | Unexpected::NewtypeStruct
        | Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant
        | Unexpected::Other(_) => found.to_string(),
    }
}

/// Reads a node.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'de>(pub(crate) &'de Node);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let read = match &self.0.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(n) => visitor.visit_i64(*n),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Switch(on) => visitor.visit_bool(*on),
            Value::List(items) => {
                let mut rest = Items { rest: items.iter().enumerate(), count: items.len() };
                visitor.visit_seq(&mut rest).and_then(|value| rest.end(value))
            }
            Value::Table(entries) => visitor.visit_map(Entries { rest: entries.iter(), current: None }),
        };
        read.map_err(|mut problem| {
            problem.at.get_or_insert(self.0.at);
            problem
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

struct Items<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
    count: usize,
}

impl Items<'_> {
    /// A reader of a fixed number of items stops there and would not notice more.
    fn end<T>(&self, value: T) -> Result<T, Problem> {
        match self.rest.len() {
            0 => Ok(value),
            left => {
                let wanted = format!("a list of {}", self.count.saturating_sub(left));
                Err(Problem::invalid_length(self.count, &wanted.as_str()))
            }
        }
    }
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        let Some((number, node)) = self.rest.next() else {
            return Ok(None);
        };
        seed.deserialize(Reader(node)).map(Some).map_err(|problem| problem.inside(number.to_string(), node.at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Entries<'de> {
    rest: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        self.current = self.rest.next();
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, Problem> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|problem| problem.inside(entry.key.clone(), entry.place()))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let entry = self.current.ok_or_else(|| Problem::custom("a value was asked for before its key"))?;
        seed.deserialize(Reader(&entry.node)).map_err(|problem| problem.inside(entry.key.clone(), entry.place()))
    }
}
