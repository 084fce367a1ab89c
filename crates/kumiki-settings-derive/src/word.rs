//! From an enum to its words.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Variant};

pub(crate) fn derive(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "words are the variants of an enum; `Settings` is for structs"));
    };
    let mut words = Vec::new();
    for variant in &data.variants {
        let Some(word) = word(variant)? else {
            continue;
        };
        if !matches!(variant.fields, Fields::Unit) {
            let why = "a word has room for no content: `#[word(skip)]` leaves this out";
            return Err(Error::new_spanned(variant, why));
        }
        let ident = &variant.ident;
        words.push(quote!((#word, Self::#ident)));
    }
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl ::kumiki_settings::Word for #name {
            const WORDS: &'static [(&'static str, Self)] = &[#(#words),*];
        }
    })
}

/// The word for a variant, unless it is left out.
fn word(variant: &Variant) -> Result<Option<String>> {
    let Some(attribute) = variant.attrs.iter().find(|it| it.path().is_ident("word")) else {
        return Ok(Some(hyphenated(&variant.ident)));
    };
    attribute.parse_args_with(|input: ParseStream<'_>| {
        if input.peek(LitStr) {
            return Ok(Some(input.parse::<LitStr>()?.value()));
        }
        let word: Ident = input.parse()?;
        if word == "skip" { Ok(None) } else { Err(Error::new(word.span(), "expected a word in quotes, or `skip`")) }
    })
}

/// `WhenFull` as "when-full".
fn hyphenated(name: &Ident) -> String {
    let mut word = String::new();
    for letter in name.unraw().to_string().chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(letter.to_lowercase());
    }
    word
}
