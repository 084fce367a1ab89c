//! From a struct to what reads its settings.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Field, Fields, GenericArgument, LitStr, PathArguments, Result, Type};

use crate::field::{Arguments, FieldKind, RangeUnit, Value, check, meaning};

pub(crate) fn derive(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(_) | Fields::Unit => {
                return Err(Error::new(input.ident.span(), "settings have names, and these fields have none"));
            }
        },
        Data::Enum(_) | Data::Union(_) => {
            return Err(Error::new(input.ident.span(), "settings are the fields of a struct; `Word` is for enums"));
        }
    };
    let read = tables(fields.iter())?;
    // Everything is asked for before anything is found missing.
    let required = fields.iter().map(required).collect::<Result<Vec<_>>>()?;
    let rows = fields.iter().map(row).collect::<Result<Vec<_>>>()?;
    let rows = rows.iter().flatten();
    let check = check(&input.attrs)?.map(|check| quote!(#check(self, reader)?;));
    let name = &input.ident;
    Ok(quote! {
        /// What each setting may be:
        ///
        /// | Setting | Value | Where it is not set |
        /// |---|---|---|
        #(#[doc = #rows])*
        #[automatically_derived]
        impl ::kumiki_settings::HasSettings for #name {
            fn read(
                &mut self,
                reader: &::kumiki_settings::Reader<'_>,
            ) -> ::core::result::Result<(), ::kumiki_settings::BuildError> {
                #(#read)*
                #(#required)*
                #check
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// A line in the documentation of what is made: units, ranges and what stands for `None` belong to what a field means.
fn row(field: &Field) -> Result<Option<String>> {
    let arguments = Arguments::of(field)?;
    let key = name(field, &arguments).value();
    let Some(value) = arguments.form.as_ref().unwrap_or(&FieldKind::Value(Value::OfType)).to_row() else {
        return Ok(None);
    };
    let within = arguments.within.as_ref().map(|table| format!("{}.", table.value())).unwrap_or_default();
    let expected = arguments.expected.as_ref().map(LitStr::value).unwrap_or_default();
    let must = if arguments.required.is_some() { "must be set".to_owned() } else { String::new() };
    let unset = arguments.unset.as_ref().map_or(must, LitStr::value);
    Ok(Some(format!("| `{within}{key}` | {value}{expected} | {unset} |")))
}

/// What reads all fields: those of one table together.
fn tables<'a>(fields: impl Iterator<Item = &'a Field>) -> Result<Vec<TokenStream>> {
    let mut tables: Vec<(Option<String>, TokenStream)> = Vec::new();
    for field in fields {
        let arguments = Arguments::of(field)?;
        let tokens = read(field, &arguments)?;
        let within = arguments.within.as_ref().map(LitStr::value);
        let was_there = within.is_some() && tables.iter().any(|(table, _)| *table == within);
        match tables.last_mut() {
            Some((last, read)) if *last == within => read.extend(tokens),
            Some(_) if was_there => {
                return Err(Error::new_spanned(field, "the fields of one table stand one behind the other"));
            }
            Some(_) | None => tables.push((within, tokens)),
        }
    }
    let read = tables.into_iter().map(|(table, read)| match table {
        None => read,
        Some(table) => quote! {
            reader.table(#table, |reader| {
                #read
                ::core::result::Result::Ok(())
            })?;
        },
    });
    Ok(read.collect())
}

/// What reads one field.
fn read(field: &Field, arguments: &Arguments) -> Result<TokenStream> {
    let place = &field.ident;
    let key = name(field, arguments);
    match arguments.form.as_ref().unwrap_or(&FieldKind::Value(Value::OfType)) {
        FieldKind::Value(form) => value(field, arguments, form),
        FieldKind::Table => {
            let read = quote!(|reader| ::kumiki_settings::HasSettings::read(&mut self.#place, reader));
            Ok(quote!(reader.table(#key, #read)?;))
        }
        FieldKind::Flatten => Ok(quote!(::kumiki_settings::HasSettings::read(&mut self.#place, reader)?;)),
        FieldKind::With(with) => Ok(quote!(#with(&mut self.#place, reader)?;)),
        FieldKind::Skip => Ok(TokenStream::new()),
    }
}

/// What reads a field that is a setting of its own.
fn value(field: &Field, arguments: &Arguments, form: &Value) -> Result<TokenStream> {
    let place = &field.ident;
    let ty = &field.ty;
    let key = name(field, arguments);
    let is_option = inner(ty).is_some();
    let words_say_it = matches!(form, Value::Word | Value::Words(_));
    if is_option && !words_say_it && arguments.unset.is_none() {
        let why = "say what is done where this is not set: `#[setting(unset = \"...\")]`";
        return Err(Error::new_spanned(field, why));
    }
    let meaning = meaning(field)?;
    let unset = arguments.unset.as_ref().map(|unset| quote!(.unset(#unset)));
    // The default of what must be set is nothing to show.
    let must_be_one = arguments.required.is_some() && matches!(form, Value::Text(_) | Value::Range(..));
    let hidden = (must_be_one && unset.is_none()).then(|| quote!(.unset("")));
    let key = quote!(&::kumiki_settings::Key::new(#key, #meaning) #unset #hidden);
    let expected = || {
        let missing = || Error::new_spanned(field, "say what the text must be: `#[setting(expected = \"...\")]`");
        arguments.expected.as_ref().ok_or_else(missing)
    };
    let from_str = || quote!(|text: &str| text.parse().ok());
    let call = match form {
        Value::OfType if is(ty, "bool") => quote!(boolean(#key, &mut self.#place)),
        Value::OfType if is(ty, "Duration") => {
            quote!(time(#key, ::kumiki_settings::Duration::ZERO, &mut self.#place))
        }
        Value::OfType => {
            let why = "say what this may be, such as `#[setting(1..=255)]`, or `#[setting(skip)]`";
            return Err(Error::new_spanned(field, why));
        }
        Value::Positive => quote!(time(#key, ::kumiki_settings::SOME, &mut self.#place)),
        Value::Least(least) => quote!(time(#key, #least, &mut self.#place)),
        Value::Range(range, RangeUnit::Ones) => quote!(number(#key, #range, &mut self.#place)),
        Value::Range(range, RangeUnit::Octets) => quote!(octets(#key, #range, &mut self.#place)),
        Value::Range(range, RangeUnit::Bits) => quote!(rate(#key, #range, &mut self.#place)),
        Value::Share => quote!(share(#key, &mut self.#place)),
        Value::Word => quote!(word(#key, <#ty as ::kumiki_settings::Word>::WORDS, &mut self.#place)),
        Value::Words(words) => quote!(word(#key, &#words, &mut self.#place)),
        Value::Text(parse) => {
            let (expected, parse) = (expected()?, parse.as_ref().map_or_else(from_str, |parse| quote!(#parse)));
            let method = if is_option { quote!(maybe_text) } else { quote!(text) };
            quote!(#method(#key, #expected, #parse, &mut self.#place))
        }
        Value::List(parse) => {
            let (expected, parse) = (expected()?, parse.as_ref().map_or_else(from_str, |parse| quote!(#parse)));
            quote!(list(#key, #expected, #parse, &mut self.#place))
        }
        Value::Pairs(parse) => {
            let expected = expected()?;
            let missing = || Error::new_spanned(field, "say what stands for any name: `any = \"<name>\"`");
            let any = arguments.any.as_ref().ok_or_else(missing)?;
            quote!(pairs(#key, #any, #expected, #parse, &mut self.#place))
        }
    };
    Ok(quote!(reader.#call?;))
}

/// What notices that a field has not been set.
fn required(field: &Field) -> Result<TokenStream> {
    let arguments = Arguments::of(field)?;
    let Some((span, said)) = &arguments.required else {
        return Ok(TokenStream::new());
    };
    let key = name(field, &arguments);
    let place = &field.ident;
    let is_missing = if let Some(FieldKind::Value(Value::Text(_) | Value::Range(..))) = arguments.form {
        quote!(!reader.is_set(#key))
    } else if let Some(FieldKind::Value(Value::List(_))) = arguments.form {
        quote!(self.#place.is_empty())
    } else {
        return Err(Error::new(span.span(), "`required` is for texts, lists and what has a range"));
    };
    let Some(expected) = said.as_ref().or(arguments.expected.as_ref()) else {
        return Err(Error::new(span.span(), "say what it must be: `required = \"...\"`"));
    };
    Ok(quote! {
        if #is_missing {
            return ::core::result::Result::Err(reader.missing(#key, #expected));
        }
    })
}

fn name(field: &Field, arguments: &Arguments) -> LitStr {
    let own = || {
        let ident = field.ident.as_ref().map_or_else(String::new, |ident| ident.unraw().to_string());
        LitStr::new(&ident, proc_macro2::Span::call_site())
    };
    arguments.name.clone().unwrap_or_else(own)
}

/// Whether a type is `name`, or an `Option` of it.
pub(crate) fn is(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = inner(ty).unwrap_or(ty) else {
        return false;
    };
    path.path.segments.last().is_some_and(|last| last.ident == name)
}

/// What an `Option` is of.
pub(crate) fn inner(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let GenericArgument::Type(inner) = arguments.args.first()? else {
        return None;
    };
    Some(inner)
}
