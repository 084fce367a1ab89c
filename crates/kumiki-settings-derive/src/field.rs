//! What the attributes of a field say.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Error, Expr, ExprLit, Field, Ident, Lit, LitStr, Meta, Path, Result, Token};

/// What stands at a field.
pub(crate) enum FieldKind {
    /// A setting of its own.
    Value(Value),
    Table,
    Flatten,
    With(Path),
    Skip,
}

impl FieldKind {
    /// What a line in the documentation says of it; nothing where its settings stand elsewhere.
    pub(crate) fn to_row(&self) -> Option<String> {
        Some(match self {
            Self::Value(Value::OfType) => "any".to_owned(),
            Self::Value(Value::Positive) => "more than nothing".to_owned(),
            Self::Value(Value::Least(least)) => format!("at least `{}`", plain(least)),
            Self::Value(Value::Range(range, RangeUnit::Ones)) => format!("`{}`", plain(range)),
            Self::Value(Value::Range(range, RangeUnit::Octets)) => format!("`{}`, in octets", plain(range)),
            Self::Value(Value::Range(range, RangeUnit::Bits)) => format!("`{}`, in bits per second", plain(range)),
            Self::Value(Value::Share) => "from 0 to 1".to_owned(),
            Self::Value(Value::Word | Value::Words(_)) => "one of its words".to_owned(),
            Self::Value(Value::Text(_)) => String::new(),
            Self::Value(Value::List(_)) => "a list, each ".to_owned(),
            Self::Value(Value::Pairs(_)) => "a table of ".to_owned(),
            Self::Table => "a table".to_owned(),
            Self::Flatten | Self::With(_) | Self::Skip => return None,
        })
    }
}

/// A range or a least value as it is read: without the spaces between tokens, and without conversions.
fn plain(tokens: &TokenStream) -> String {
    let text = tokens.to_string().replace(" . into ()", "");
    text.replace(" ..= ", "..=").replace(" :: ", "::").replace(" (", "(")
}

/// What a value looks like.
pub(crate) enum Value {
    /// The type says it: a `bool` or a `Duration`.
    OfType,
    Positive,
    Least(TokenStream),
    /// The range, and of what.
    Range(TokenStream, RangeUnit),
    Share,
    Word,
    Words(Path),
    /// With what reads it, unless `FromStr` does.
    Text(Option<Path>),
    List(Option<Path>),
    Pairs(Path),
}

/// What a range counts.
#[derive(Clone, Copy)]
pub(crate) enum RangeUnit {
    Ones,
    Octets,
    /// Bits per second.
    Bits,
}

/// The arguments of `#[setting(...)]`.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) form: Option<FieldKind>,
    /// What the range counts, where that is no number.
    of: Option<(Ident, RangeUnit)>,
    pub(crate) name: Option<LitStr>,
    pub(crate) unset: Option<LitStr>,
    pub(crate) expected: Option<LitStr>,
    pub(crate) any: Option<LitStr>,
    /// The table that it stands in.
    pub(crate) within: Option<LitStr>,
    /// With what is expected, where that is said apart.
    pub(crate) required: Option<(Ident, Option<LitStr>)>,
}

impl Arguments {
    /// What stands at a field.
    pub(crate) fn of(field: &Field) -> Result<Self> {
        let mut arguments = Self::default();
        for attribute in field.attrs.iter().filter(|it| it.path().is_ident("setting")) {
            attribute.parse_args_with(|input: ParseStream<'_>| arguments.parse(input))?;
        }
        if let Some((word, of)) = arguments.of.take() {
            let Some(FieldKind::Value(Value::Range(_, place))) = &mut arguments.form else {
                return Err(Error::new(word.span(), format!("`{word}` needs a range, such as `1..=65535`")));
            };
            *place = of;
        }
        Ok(arguments)
    }

    fn parse(&mut self, input: ParseStream<'_>) -> Result<()> {
        while !input.is_empty() {
            let argument = input.fork();
            match argument.call(Ident::parse_any) {
                Ok(word) if argument.is_empty() || argument.peek(Token![,]) => {
                    input.call(Ident::parse_any)?;
                    self.word(word)?;
                }
                Ok(key) if argument.peek(Token![=]) => {
                    input.call(Ident::parse_any)?;
                    input.parse::<Token![=]>()?;
                    self.value(&key, input)?;
                }
                _ => self.range(input)?,
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    fn word(&mut self, word: Ident) -> Result<()> {
        let form = match word.to_string().as_str() {
            "octets" => {
                self.of = Some((word, RangeUnit::Octets));
                return Ok(());
            }
            "rate" => {
                self.of = Some((word, RangeUnit::Bits));
                return Ok(());
            }
            "required" => {
                self.required = Some((word, None));
                return Ok(());
            }
            "positive" => FieldKind::Value(Value::Positive),
            "share" => FieldKind::Value(Value::Share),
            "word" => FieldKind::Value(Value::Word),
            "text" => FieldKind::Value(Value::Text(None)),
            "list" => FieldKind::Value(Value::List(None)),
            "table" => FieldKind::Table,
            "flatten" => FieldKind::Flatten,
            "skip" => FieldKind::Skip,
            _ => return Err(unknown(&word)),
        };
        self.put(word.span(), form)
    }

    fn value(&mut self, key: &Ident, input: ParseStream<'_>) -> Result<()> {
        let form = match key.to_string().as_str() {
            "name" => return input.parse().map(|text| self.name = Some(text)),
            "unset" => return input.parse().map(|text| self.unset = Some(text)),
            "expected" => return input.parse().map(|text| self.expected = Some(text)),
            "within" => return input.parse().map(|text| self.within = Some(text)),
            "any" => return input.parse().map(|text| self.any = Some(text)),
            "required" => return input.parse().map(|text| self.required = Some((key.clone(), Some(text)))),
            "least" => FieldKind::Value(Value::Least(until_comma(input)?)),
            "words" => FieldKind::Value(Value::Words(input.parse()?)),
            "text" => FieldKind::Value(Value::Text(Some(input.parse()?))),
            "list" => FieldKind::Value(Value::List(Some(input.parse()?))),
            "pairs" => FieldKind::Value(Value::Pairs(input.parse()?)),
            "with" => FieldKind::With(input.parse()?),
            _ => return Err(unknown(key)),
        };
        self.put(key.span(), form)
    }

    fn range(&mut self, input: ParseStream<'_>) -> Result<()> {
        let span = input.span();
        let range = until_comma(input)?;
        if !range.to_string().replace(' ', "").contains("..=") {
            return Err(Error::new(span, "expected a range such as `1..=255`"));
        }
        self.put(span, FieldKind::Value(Value::Range(range, RangeUnit::Ones)))
    }

    fn put(&mut self, span: proc_macro2::Span, form: FieldKind) -> Result<()> {
        match self.form.replace(form) {
            None => Ok(()),
            Some(_) => Err(Error::new(span, "a setting has one form: this is a second one")),
        }
    }
}

fn unknown(word: &Ident) -> Error {
    let known = "a range, `octets`, `rate`, `share`, `positive`, `least`, `word`, `words`, `text`, `list`, `pairs`, `table`, `flatten`, `with`, `skip`, `within`, `name`, `unset`, `expected`, `any`, `required`";
    Error::new(word.span(), format!("`{word}` is none of {known}"))
}

fn until_comma(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut tokens = Vec::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.push(input.parse::<TokenTree>()?);
    }
    Ok(tokens.into_iter().collect())
}

/// The function that `#[settings(check = FUNCTION)]` names.
pub(crate) fn check(attributes: &[Attribute]) -> Result<Option<Path>> {
    let Some(attribute) = attributes.iter().find(|it| it.path().is_ident("settings")) else {
        return Ok(None);
    };
    let parser = |input: ParseStream<'_>| {
        let key: Ident = input.parse()?;
        if key != "check" {
            return Err(Error::new(key.span(), "expected `check = FUNCTION`"));
        }
        input.parse::<Token![=]>()?;
        input.parse::<Path>()
    };
    let Meta::List(list) = &attribute.meta else {
        return Err(Error::new_spanned(attribute, "expected `#[settings(check = FUNCTION)]`"));
    };
    parser.parse2(list.tokens.clone()).map(Some)
}

/// The first paragraph of a doc comment, in one line.
pub(crate) fn meaning(field: &Field) -> Result<String> {
    let lines = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &attribute.meta.require_name_value().ok()?.value else {
            return None;
        };
        Some(text.value().trim().to_owned())
    });
    let text = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(Error::new_spanned(field, "say in a doc comment what this setting means, or `#[setting(skip)]`"));
    }
    if text.contains('[') {
        let why = "the meaning of a setting is printed as it is: links go into a later paragraph of the doc comment";
        return Err(Error::new_spanned(field, why));
    }
    Ok(text)
}
