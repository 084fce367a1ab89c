use super::*;
use crate::stats::Level;

fn table() -> Table {
    let row = |head: &str, ours: f64, paper, fitted| {
        let cells = vec![
            Cell::number(ours, 2).expected("paper", paper).fitted(fitted),
            Cell::number(134.581, 2),
            Cell::text("link"),
        ];
        (head.to_owned(), cells)
    };
    Table {
        title: "Figure 6: one session (Mb/s)".to_owned(),
        corner: "window".to_owned(),
        columns: ["goodput", "limit", "bound by"].map(str::to_owned).to_vec(),
        rows: vec![
            row("8 KiB", 10.61, Some(10.6), false),
            row("48 KiB", 133.1, None, false),
            row("256 KiB", 133.38, Some(133.4), true),
        ],
        legend: vec!["profile atm-board, fitted to 3 points by 1 parameter; seed 1".to_owned()],
    }
}

#[test]
fn a_cell_shows_value_paper_and_difference() {
    let drawn = table().draw(Layout { lines: Lines::Ascii, width: None });
    assert_eq!(
        drawn,
        "\
Figure 6: one session (Mb/s)
+---------+-------------------------------+--------+----------+
| window  |                       goodput |  limit | bound by |
+=============================================================+
| 8 KiB   |  10.61    paper 10.6  +0.09 % | 134.58 |     link |
| 48 KiB  | 133.10                        | 134.58 |     link |
| 256 KiB | 133.38*  paper 133.4  -0.01 % | 134.58 |     link |
+---------+-------------------------------+--------+----------+
* the profile was fitted to this value; the others are predicted
profile atm-board, fitted to 3 points by 1 parameter; seed 1
"
    );
}

#[test]
fn a_narrow_table_puts_parts_below_each_other_and_then_wraps() {
    let drawn = table().draw(Layout { lines: Lines::Unicode, width: Some(50) });
    assert!(drawn.contains("256 KiB"));
    let grid =
        |text: &str| text.lines().filter(|l| !l.starts_with(['*', 'p', 'F'])).map(|l| l.chars().count()).max().unwrap();
    assert!(grid(&drawn) <= 50);
    let narrower = table().draw(Layout { lines: Lines::Ascii, width: Some(36) });
    assert!(grid(&narrower) <= 36);
    assert!(drawn.contains("paper 133.4"));
}

#[test]
fn differences_have_a_sign_unless_there_is_none() {
    assert_eq!(difference(133.38, 133.4).as_deref(), Some("-0.01 %"));
    assert_eq!(difference(133.4, 133.4).as_deref(), Some("0.00 %"));
    assert_eq!(difference(133.399_99, 133.4).as_deref(), Some("0.00 %"));
    assert_eq!(difference(112.34, 100.0).as_deref(), Some("+12.3 %"));
    assert_eq!(difference(1.0, 0.0), None);
}

#[test]
fn short_rows_empty_tables_and_markdown_are_drawn() {
    let mut table = table();
    table.rows.push(("none".to_owned(), Vec::new()));
    table.rows.push(("long".to_owned(), vec![Cell::empty(); 5]));
    assert!(table.draw(Layout::default()).contains("none"));
    let markdown = table.draw(Layout { lines: Lines::Markdown, width: Some(20) });
    assert!(markdown.contains("| 8 KiB"), "{markdown}");
    assert!(Table::default().draw(Layout::default()).ends_with('\n'));
}

#[test]
fn a_summary_is_compared_by_its_mean() {
    let summary = Summary::of(&[99.0, 100.0, 101.0], Level::P99).unwrap();
    let parts = Cell::summary(&summary, 1).expected("paper", Some(100.0)).parts(false);
    assert_eq!(parts, ["100.0 +- 5.7", "paper 100", "0.00 %"]);
}

/// A terminal takes some characters for orders.
#[test]
fn what_is_not_seen_in_a_table_is_escaped() {
    let orders = "\u{1b}[31mred\u{7}\u{9b}\u{202e}";
    let table = Table {
        title: orders.to_owned(),
        corner: orders.to_owned(),
        columns: vec![orders.to_owned()],
        rows: vec![(orders.to_owned(), vec![Cell::text(orders).word(orders)])],
        legend: vec![orders.to_owned()],
    };
    for lines in [Lines::Unicode, Lines::Ascii, Lines::Markdown] {
        let drawn = table.draw(Layout { lines, width: None });
        assert!(!drawn.contains(|it| it != '\n' && kumiki_octets::text::is_unseen(it)), "{drawn:?}");
        assert!(drawn.starts_with("\\u{1b}[31mred\\u{7}\\u{9b}\\u{202e}\n"), "{drawn}");
    }
}
