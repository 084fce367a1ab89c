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
