//! From a struct that serde reads to what its keys are, in words.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, LitStr, Result, Type};

use crate::settings::{inner, is};

/// What `#[key(...)]` says of a field.
#[derive(Default)]
struct KeyAttribute {
    is: Option<LitStr>,
    default: Option<LitStr>,
    example: Option<LitStr>,
    skip: bool,
}

pub(crate) fn derive(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "keys are the fields of a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.ident.span(), "keys have names, and these fields have none"));
    };
    let all_have_defaults = serde(&input.attrs)?.default;
    let keys = fields.named.iter().map(|field| key(field, all_have_defaults)).collect::<Result<Vec<_>>>()?;
    let keys = keys.iter().flatten();
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl ::kumiki_settings::HasKeys for #name {
            const KEYS: &'static [::kumiki_settings::Described] = &[#(#keys),*];
        }
    })
}

/// One key; none where it is left out.
fn key(field: &Field, all_have_defaults: bool) -> Result<Option<TokenStream>> {
    let said = KeyAttribute::of(field)?;
    let serde = serde(&field.attrs)?;
    if said.skip {
        return Ok(None);
    }
    if serde.flatten {
        return Err(Error::new_spanned(field, "any name may stand here: `#[key(skip)]`, and say so in words"));
    }
    let name = field.ident.as_ref().map_or_else(String::new, |ident| ident.unraw().to_string());
    let meaning = meaning(field)?;
    let missing = |what: &str| Error::new_spanned(field, format!("say {what}"));
    let is = match said.is {
        Some(is) => is.value(),
        None => of_type(&field.ty).ok_or_else(|| missing("what it may be: `#[key(is = \"a time\")]`"))?.to_owned(),
    };
    let is_optional = inner(&field.ty).is_some();
    let must_be_given = !is_optional && !serde.default && !all_have_defaults;
    if must_be_given && let Some(default) = &said.default {
        return Err(Error::new(default.span(), "it must be given, so it has no default"));
    }
    let default = match &said.default {
        Some(default) => default.value(),
        None if must_be_given => String::new(),
        None => return Err(missing("what is done without it: `#[key(default = \"...\")]`")),
    };
    let example = said.example.as_ref().ok_or_else(|| missing("an example in TOML: `#[key(example = \"...\")]`"))?;
    let is_filled_in = !is_optional && !must_be_given;
    Ok(Some(quote! {
        ::kumiki_settings::Described {
            name: #name,
            is: #is,
            meaning: #meaning,
            default: #default,
            example: #example,
            must_be_given: #must_be_given,
            is_filled_in: #is_filled_in,
        }
    }))
}

/// What a type alone says.
fn of_type(ty: &Type) -> Option<&'static str> {
    if is(ty, "bool") {
        return Some("true or false");
    }
    let is_number = ["u8", "u16", "u32", "u64", "usize", "i32", "f64"].into_iter().any(|name| is(ty, name));
    is_number.then_some("a number")
}

impl KeyAttribute {
    fn of(field: &Field) -> Result<Self> {
        let mut said = Self::default();
        for attribute in field.attrs.iter().filter(|it| it.path().is_ident("key")) {
            attribute.parse_nested_meta(|meta| said.take(&meta))?;
        }
        Ok(said)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let place = if meta.path.is_ident("skip") {
            self.skip = true;
            return Ok(());
        } else if meta.path.is_ident("is") {
            &mut self.is
        } else if meta.path.is_ident("default") {
            &mut self.default
        } else if meta.path.is_ident("example") {
            &mut self.example
        } else {
            return Err(meta.error("this is none of `is`, `default`, `example` and `skip`"));
        };
        let value: LitStr = meta.value()?.parse()?;
        if value.value().contains(['|', '\n']) {
            return Err(Error::new(value.span(), "it stands in a table, which this would break"));
        }
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(meta.error("this is a second one")),
        }
    }
}

/// What serde knows of a field or of all.
#[derive(Default)]
struct Serde {
    default: bool,
    flatten: bool,
}

fn serde(attributes: &[Attribute]) -> Result<Serde> {
    let mut found = Serde::default();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            found.default |= meta.path.is_ident("default");
            found.flatten |= meta.path.is_ident("flatten");
            if meta.input.peek(syn::Token![=]) {
                let _: LitStr = meta.value()?.parse()?;
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// The first paragraph of a doc comment, in one line. Brackets stand in code alone, for links mean nothing in a book.
fn meaning(field: &Field) -> Result<String> {
    let lines = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &attribute.meta.require_name_value().ok()?.value else {
            return None;
        };
        Some(text.value().trim().to_owned())
    });
    let text = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(Error::new_spanned(field, "say in a doc comment what this key means, or `#[key(skip)]`"));
    }
    let outside = text.split('`').step_by(2);
    if text.contains('|') || outside.into_iter().any(|part| part.contains('[')) {
        let why = "the meaning of a key is printed in a table: links go into a later paragraph of the doc comment";
        return Err(Error::new_spanned(field, why));
    }
    Ok(text)
}
