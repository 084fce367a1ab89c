//! What a command leaves behind, with a runner that only says what it was asked.

use std::path::{Path, PathBuf};

use kumiki_lab::reproduce::{Failure, Outcome, Runner};
use kumiki_lab::rows::read_rows;

use super::*;

const TWO_HOSTS: &str = include_str!("../../../kumiki-lab/tests/data/two-hosts.toml");

struct Fake {
    failing: fn(&Point) -> bool,
}

impl Runner for Fake {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        if (self.failing)(point) {
            return Err("the peer reset".into());
        }
        let mut row = point.row();
        row.goodput_mbps = 1.0;
        Ok(Outcome { rows: vec![row], ..Outcome::default() })
    }
}

fn args(name: &str) -> cli::Results {
    let out = std::env::temp_dir().join(format!("kumiki-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&out);
    cli::Results {
        quick: true,
        runs: None,
        out,
        force: false,
        resume: false,
        dry_run: false,
        shard: None,
        pcap: None,
        snap: cli::Snap::default(),
        json: true,
        #[cfg(feature = "parquet")]
        parquet: false,
        jobs: Some(2),
    }
}

fn run_two(args: &cli::Results, failing: fn(&Point) -> bool) -> Result<(), Stop> {
    let document = Document::parse("two", "two.toml", TWO_HOSTS).unwrap();
    let captures = String::new();
    let work = experiments::Work { what: "test", documents: &[document], set: Vec::new(), captures, args };
    experiments::experiments(work, &Arc::new(Fake { failing }))
}

fn files(args: &cli::Results) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(&args.out)
        .unwrap()
        .map(|entry| entry.unwrap().path().strip_prefix(&args.out).unwrap().to_owned())
        .collect();
    files.sort();
    files
}

#[test]
fn a_run_leaves_rows_and_figures_and_refuses_to_run_over_them() {
    let args = args("leaves");
    run_two(&args, |_| false).unwrap();
    assert_eq!(
        files(&args),
        ["figures", "journal.jsonl", "report.html", "rows.csv", "rows.jsonl", "run.json"].map(PathBuf::from)
    );
    assert_eq!(read_rows(&args.out.join("rows.jsonl")).unwrap().len(), 2);
    assert!(matches!(run_two(&args, |_| false), Err(Stop::Input(_))));
    std::fs::remove_dir_all(&args.out).unwrap();
}

#[test]
fn what_ran_is_written_although_a_point_failed() {
    let args = args("some");
    let Err(Stop::Failed(why)) = run_two(&args, |point| point.index == 0) else {
        panic!("one of two points failed");
    };
    assert_eq!(why, "1 of 2 points failed:\n  two, nagle on, window 48 KiB, rtt 20 ms: the peer reset");
    assert_eq!(read_rows(&args.out.join("rows.jsonl")).unwrap().len(), 1);
    std::fs::remove_dir_all(&args.out).unwrap();
}

#[test]
fn where_all_failed_nothing_is_in_the_way_of_the_next_attempt() {
    let args = args("none");
    assert!(matches!(run_two(&args, |_| true), Err(Stop::Failed(_))));
    run_two(&args, |_| false).unwrap();
    std::fs::remove_dir_all(&args.out).unwrap();
}

#[test]
fn papers_are_chosen_and_a_missing_one_is_said() {
    let two = Document::parse("two", "two.toml", TWO_HOSTS).unwrap();
    let none = Document::parse("free", "free.toml", &TWO_HOSTS.replace("paper = 2\n", "")).unwrap();
    let documents = vec![two, none];
    assert_eq!(of_papers(documents.clone(), &[]).unwrap().len(), 1);
    assert_eq!(of_papers(documents.clone(), &[2]).unwrap().len(), 1);
    let of = |name: &str, figure: &str| {
        let text = format!("title = \"x\"\npaper = 2\nfigure = \"{figure}\"\n");
        Document::parse(name, name, &text).unwrap()
    };
    let all = [("a", "beyond"), ("fig7-other", "fig7"), ("x-fig7", "fig7"), ("x-table2", "table2")];
    let sorted = of_papers(all.map(|(name, figure)| of(name, figure)).to_vec(), &[]).unwrap();
    let names: Vec<&str> = sorted.iter().map(Document::name).collect();
    assert_eq!(names, ["x-fig7", "x-table2", "a", "fig7-other"], "what the paper prints comes first");
    assert!(matches!(of_papers(documents, &[2, 4]), Err(Stop::Input(why)) if why == "no scenario repeats paper 4"));
}

#[test]
fn a_command_line_that_goes_on_is_one_that_a_shell_takes() {
    let again = |arguments: &[&str]| experiments::again(arguments.iter().map(|&it| it.to_owned()), true);
    assert_eq!(again(&["reproduce", "2", "--force", "--out", "a b"]), "kumiki reproduce 2 --out 'a b' --resume");
    let set = again(&["run", "./x.toml", "--set", "window=8 KiB, 16 KiB", "--set", "title=it's", "--resume"]);
    assert_eq!(set, r"kumiki run ./x.toml --set 'window=8 KiB, 16 KiB' --set 'title=it'\''s' --resume");
}

#[test]
fn a_picture_that_would_not_be_what_its_name_says_is_refused() {
    for (name, meant) in [("x.png", "x.svg"), ("out/figure.PDF", "out/figure.svg")] {
        let Err(Stop::Input(why)) = picture::check(Path::new(name)) else { panic!("{name} was taken") };
        assert!(why.contains("pictures are SVG") && why.ends_with(&format!("did you mean {meant}?")), "{why}");
    }
    for name in ["x.svg", "x.SVG", "/dev/stdout"] {
        assert!(picture::check(Path::new(name)).is_ok(), "{name}");
    }
}
