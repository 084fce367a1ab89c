//! What the derives refuse. What they make is tried in `kumiki-settings`, which is what it calls.

use proc_macro2::TokenStream;
use quote::quote;

fn refused(made: syn::Result<TokenStream>) -> String {
    made.expect_err("it was taken").to_string()
}

#[test]
fn a_setting_that_is_not_declared_in_full_is_refused_with_what_is_missing() {
    let cases = [
        (quote!(#[doc = " Hops."] ttl: u8), "say what this may be"),
        (quote!(#[setting(0..=255)] ttl: u8), "say in a doc comment what this setting means"),
        (quote!(#[doc = " A [`Trace`] is kept."] trace: bool), "links go into a later paragraph"),
        (quote!(#[doc = " Most data."] #[setting(1..=65535, octets)] mss: Option<u16>), "say what is done where"),
        (quote!(#[doc = " Ours."] #[setting(text)] address: IpAddr), "say what the text must be"),
        (quote!(#[doc = " Hops."] #[setting(pairs = f, expected = "x")] known: Vec<A>), "stands for any name"),
        (quote!(#[doc = " Size."] #[setting(octets)] size: u32), "`octets` needs a range"),
        (quote!(#[doc = " Size."] #[setting(7)] size: u32), "expected a range such as"),
        (quote!(#[doc = " Size."] #[setting(1..=7, 1..=9)] size: u32), "this is a second one"),
        (quote!(#[doc = " Size."] #[setting(rang = 7)] size: u32), "`rang` is none of a range, `octets`"),
        (quote!(#[doc = " Size."] #[setting(sized)] size: u32), "`sized` is none of a range, `octets`"),
        (
            quote!(#[doc = " A."] #[setting(within = "t")] a: bool, #[doc = " B."] b: bool, #[doc = " C."] #[setting(within = "t")] c: bool),
            "the fields of one table stand one behind the other",
        ),
        (quote!(#[doc = " Size."] #[setting(1..=7, required)] size: u32), "say what it must be"),
        (quote!(#[doc = " Whether."] #[setting(required = "a word")] size: bool), "`required` is for texts, lists"),
        (quote!(#[doc = " Rate."] #[setting(rate)] rate: u64), "`rate` needs a range"),
    ];
    for (field, expected) in cases {
        let why = refused(crate::settings::derive(quote!(struct Config { #field })));
        assert!(why.contains(expected), "{field}: {why}");
    }
}

#[test]
fn units_ranges_and_what_is_done_without_are_documented() {
    let field =
        quote!(#[doc = " Most data."] #[setting(1..=MOST.into(), octets, unset = "what IP carries")] mss: Option<u16>);
    let made = crate::settings::derive(quote!(struct Config { #field })).unwrap().to_string();
    assert!(made.contains("| `mss` | `1..=MOST`, in octets | what IP carries |"), "{made}");
}

#[test]
fn each_derive_names_the_other_for_what_it_is_not_for() {
    assert!(
        refused(crate::settings::derive(quote!(
            enum Way {
                Up,
            }
        )))
        .contains("`Word` is for enums")
    );
    assert!(
        refused(crate::settings::derive(quote!(
            struct Config(u8);
        )))
        .contains("these fields have none")
    );
    assert!(
        refused(crate::word::derive(quote!(
            struct Config {
                ttl: u8,
            }
        )))
        .contains("`Settings` is for structs")
    );
    let check = quote!(
        #[settings(chek = f)]
        struct Config {}
    );
    assert!(refused(crate::settings::derive(check)).contains("expected `check = FUNCTION`"));
}

#[test]
fn a_word_with_content_must_be_left_out() {
    let way = |variant: TokenStream| crate::word::derive(quote!(enum Way { #variant, Up }));
    assert!(refused(way(quote!(By(u8)))).contains("`#[word(skip)]` leaves this out"));
    assert!(
        refused(way(quote!(
            #[word(down)]
            Down
        )))
        .contains("expected a word in quotes, or `skip`")
    );
    assert!(
        way(quote!(
            #[word(skip)]
            By(u8)
        ))
        .is_ok()
    );
}

#[test]
fn a_key_that_is_not_described_in_full_is_refused_with_what_is_missing() {
    let cases = [
        (quote!(#[key(is = "a time", example = "1")] time: String), "say in a doc comment what this key means"),
        (quote!(#[doc = " When."] #[key(example = "1")] time: String), "say what it may be"),
        (quote!(#[doc = " When."] #[key(is = "a time")] time: String), "say an example in TOML"),
        (
            quote!(#[doc = " When."] #[key(is = "a time", example = "1")] time: Option<String>),
            "say what is done without it",
        ),
        (quote!(#[doc = " When."] #[serde(default)] #[key(example = "1")] runs: u32), "say what is done without it"),
        (quote!(#[doc = " When."] #[key(default = "1", example = "1")] runs: u32), "so it has no default"),
        (quote!(#[doc = " A [`Time`]."] #[key(example = "1")] runs: u32), "links go into a later paragraph"),
        (quote!(#[doc = " When."] #[key(example = "a | b")] runs: u32), "which this would break"),
        (quote!(#[doc = " When."] #[key(exampel = "1")] runs: u32), "none of `is`"),
        (quote!(#[doc = " Any."] #[serde(flatten)] rest: Table), "any name may stand here"),
    ];
    for (field, expected) in cases {
        let why = refused(crate::keys::derive(quote!(struct Table { #field })));
        assert!(why.contains(expected), "{field}: {why}");
    }
}

#[test]
fn keys_have_the_names_and_defaults_of_serde() {
    let made = crate::keys::derive(quote! {
        #[serde(deny_unknown_fields)]
        struct Table {
            /// In `[run]`, when.
            #[key(is = "a time", example = "\"5 s\"")]
            start: String,
            /// How often.
            #[serde(default = "one")]
            #[key(default = "1", example = "6")]
            runs: u32,
            /// Any.
            #[serde(flatten)]
            #[key(skip)]
            rest: Table,
        }
    });
    let made = made.expect("it is described in full").to_string();
    for part in [
        r#"name : "start" , is : "a time" , meaning : "In `[run]`, when." , default : """#,
        "must_be_given : true , is_filled_in : false",
        r#"name : "runs" , is : "a number" , meaning : "How often." , default : "1" , example : "6""#,
        "must_be_given : false , is_filled_in : true",
    ] {
        assert!(made.contains(part), "{part} is not in {made}");
    }
    assert!(!made.contains("rest"));
}
