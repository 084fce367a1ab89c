//! The page of a run with captures: what it shows of a connection, and that a browser zooms it.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]

use std::process::Command;

use kumiki_watchdog::peers;
use kumiki_watchdog::process::Folder;

/// A connection that loses packets of a queue of 10.
const SCENARIO: &str = r#"
title = "A short queue"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "20 ms", queue_frames = 10 }
load.bulk = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = 40 }
run.duration = "20 s"
"#;

/// A connection over a line that breaks for a second, looked at every 100 ms.
const BROKEN: &str = r#"
title = "A line that breaks"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "20 ms", queue_frames = 20, schedule = [{ at = "3 s", up = false }, { at = "4 s", up = true, rate = "5 Mb/s" }] }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", sessions = 2 }
run = { duration = "9 s", interval = "100 ms" }
vary.frames = [20, 40]
"#;

/// Runs `kumiki` in `folder`, and gives what it prints.
fn kumiki(folder: &Folder, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kumiki"));
    let output = command.args(arguments).current_dir(folder.place()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The folder of a run with captures, and its page.
fn ran(name: &str) -> (Folder, String) {
    kumiki_watchdog::minute();
    let folder = Folder::new(name);
    folder.write("short.toml", SCENARIO.as_bytes());
    kumiki(&folder, &["run", "short.toml", "--pcap", "--out", "out"]);
    let page = String::from_utf8(folder.read("out/report.html")).unwrap();
    (folder, page)
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn the_page_has_the_segments_of_a_connection_and_its_packets() {
    let (folder, page) = ran("page-packets");
    let rows = String::from_utf8(folder.read("out/rows.jsonl")).unwrap();
    let of = |name: &str| -> u64 {
        let (_, behind) = rows.split_once(&format!("\"{name}\":")).unwrap();
        behind.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    // TCP itself counts what it sends again. Each figure is there for a wide screen and for a narrow one.
    let again =
        u64::try_from(count(&page, "<title>\nretransmitted: ") + count(&page, "<title>retransmitted: ")).unwrap();
    assert!(again > 0 && again == 2 * of("retransmissions"), "{again}, twice {}", of("retransmissions"));
    for curve in ["acknowledged", "window's right edge", "acknowledged selectively (SACK)"] {
        assert!(page.contains(curve), "{curve}");
    }
    // Each packet is as `kumiki decode` has it, and unfolds.
    let capture = "out/captures/short/000-a.pcapng";
    let lines = kumiki(&folder, &["decode", capture]);
    let shown = |text: &str| {
        text.trim()
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;")
    };
    let packets = lines.lines().count();
    assert!(packets > UNFOLD && packets < 1200, "{packets}");
    for line in lines.lines().take(UNFOLD) {
        assert!(page.contains(&format!("<summary>{}</summary>", shown(line))), "{line}");
    }
    assert_eq!(count(&page, "<details class=\"packet\">"), UNFOLD);
    assert!(page.contains("The first 120 packets, each with all that is in it"));
    let tree = kumiki(&folder, &["decode", "--verbose", "--count", "1", capture]);
    assert!(page.contains(&shown(&tree)), "{tree}");
    assert!(page.len() < 1_000_000, "{}", page.len());
}

/// So many packets unfold on a page.
const UNFOLD: usize = 120;

/// Six connections, each of thousands of packets, that three hosts see.
const MANY: &str = r#"
title = "Six connections"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
host.r = { graph = { ip = ["l0", "l1"] }, ip.forwarding = true }
link.near = { ends = ["a", "r.l0"], medium = "point-to-point", rate = "200 Mb/s", propagation = "1 ms" }
link.far = { ends = ["r.l1", "b"], medium = "point-to-point", rate = "40 Mb/s", propagation = "5 ms", queue_frames = 30 }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", sessions = 6 }
run.duration = "1 s"
"#;

/// A page is to be opened and sent, however long the run and however many its connections; what it leaves out is said.
#[test]
fn the_page_of_many_packets_is_bounded_and_says_what_it_leaves_out() {
    kumiki_watchdog::minute();
    let folder = Folder::new("page-many");
    folder.write("many.toml", MANY.as_bytes());
    kumiki(&folder, &["run", "many.toml", "--pcap", "--out", "out"]);
    let page = String::from_utf8(folder.read("out/report.html")).unwrap();
    assert!(page.len() < 1_000_000, "{}", page.len());
    assert_eq!(count(&page, "<details class=\"packet\">"), UNFOLD);
    assert_eq!(count(&page, " packets; 000-a.pcapng has all of them."), 4);
    assert_eq!(count(&page, "The first 30 packets, each with all that is in it"), 4);
    let others =
        "No more than 4 connections of this scenario are shown, those that began first; its captures have others.";
    assert_eq!(count(&page, others), 1);
    // How long it took is written when all else is.
    let written = |name: &str| folder.path(name).metadata().unwrap().modified().unwrap();
    assert!(written("out/run.json") >= written("out/report.html"));
}

#[test]
fn without_captures_the_page_has_no_packets() {
    kumiki_watchdog::minute();
    let folder = Folder::new("page-plain");
    folder.write("short.toml", SCENARIO.as_bytes());
    // A trace and values over time are no captures.
    for more in [&[][..], &["--trace"], &["--set", "run.interval=100 ms"]] {
        kumiki(&folder, &[&["run", "short.toml", "--out", "out", "--force"], more].concat());
        let page = String::from_utf8(folder.read("out/report.html")).unwrap();
        assert!(!page.contains("What packets show") && !page.contains("class=\"packet\""), "{more:?}");
    }
}

/// What is done to the figure with segments, and what becomes of it.
const DRIVER: &str = r##"
<script>
(function () {
  const figure = Array.from(document.querySelectorAll("figure")).find(function (it) { return it.getClientRects().length > 0 ? it.querySelector("svg.plot") !== null : false; });
  const frame = figure.querySelector(".scroll"), svg = figure.querySelector("svg"), plot = svg.querySelector("svg.plot");
  figure.scrollIntoView();
  const box = plot.getBoundingClientRect();
  const said = {};
  const shown = function () { return figure.querySelectorAll(".pt:not(.out)").length; };
  const ticks = function () {
    const all = Array.from(svg.querySelectorAll("text.tx:not(.out)"));
    return all.map(function (it) { return it.textContent; }).join(" ");
  };
  const curve = function () { return svg.querySelector("polyline").getAttribute("points").split(/[ ,]/).map(Number); };
  const tell = function (name) { said[name] = { points: shown(), ticks: ticks() }; };
  const pointer = function (target, type, x) {
    target.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: box.top + box.height / 2, button: 0, pointerType: "mouse", bubbles: true, cancelable: true }));
  };
  const key = function (name) { frame.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true })); };
  const before = curve();
  tell("whole");
  const left = Number(plot.getAttribute("x")), width = Number(plot.getAttribute("width"));
  const at = function (share) { return new DOMPoint(left + share * width, 0).matrixTransform(svg.getScreenCTM()).x; };
  pointer(frame, "pointerdown", at(0.25));
  pointer(window, "pointermove", at(0.4));
  said.marked = svg.querySelectorAll(".marked").length;
  pointer(window, "pointerup", at(0.5));
  tell("dragged");
  const plotted = Array.from(svg.querySelectorAll(".pt:not(.out)"));
  said.inside = plotted.every(function (it) {
    const own = it.getBoundingClientRect();
    return own.left + own.width / 2 >= at(0) - 2 ? at(1) + 2 >= own.left + own.width / 2 : false;
  });
  frame.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  tell("double");
  key("+"); key("+");
  tell("keys");
  key("."); tell("later");
  key("0");
  tell("reset");
  const after = curve();
  said.same = after.length === before.length ? after.every(function (it, n) { return 0.06 > Math.abs(it - before[n]); }) : false;
  const buttons = Array.from(figure.querySelectorAll(".zoom button"));
  said.buttons = buttons.map(function (it) { return it.textContent + (it.disabled ? " (off)" : ""); }).join(", ");
  buttons[0].click();
  tell("button");
  said.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  said.window = innerWidth;
  said.letters = 1000;
  said.cut = [];
  for (const it of document.querySelectorAll("figure > .scroll")) {
    if (it.getClientRects().length === 0) { continue; }
    if (it.scrollWidth > it.clientWidth) { said.cut.push(it.getAttribute("aria-label")); }
    const own = it.querySelector("svg");
    const scale = own.getBoundingClientRect().width / own.viewBox.baseVal.width;
    for (const words of own.querySelectorAll("text")) { said.letters = Math.min(said.letters, scale * Number(words.getAttribute("font-size"))); }
  }
  const details = document.querySelector("details:has(> .scroll > .packet)");
  if (details) {
    details.open = true;
    const packet = details.querySelector(".packet");
    packet.open = true;
    said.unfolded = packet.querySelector("pre").getBoundingClientRect().height > 50;
  }
  said.still = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(said);
  document.body.append(told);
})();
</script>
"##;

/// What the driver has told of the page in a window of this width.
fn driven(folder: &Folder, page: &str, width: u16) -> Option<serde_json::Value> {
    let driven = page.replacen("</body>", &format!("{DRIVER}</body>"), 1);
    assert_ne!(driven, page);
    folder.write("driven.html", driven.as_bytes());
    let html = peers::chromium(&folder.path("driven.html"), &folder.path("browser"), (width, 900))?;
    let (_, behind) = html.split_once("<pre id=\"told\">").unwrap();
    let (told, _) = behind.split_once("</pre>").unwrap();
    Some(serde_json::from_str(&told.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")).unwrap())
}

#[test]
fn a_browser_zooms_a_figure_by_mouse_by_keys_and_by_buttons() {
    let (folder, page) = ran("page-zoom");
    let Some(told) = driven(&folder, &page, 1280) else {
        return;
    };
    let points = |name: &str| told[name]["points"].as_u64().unwrap();
    let ticks = |name: &str| told[name]["ticks"].as_str().unwrap().to_owned();
    let whole = points("whole");
    assert!(whole > 100 && points("dragged") > 0 && points("dragged") < whole, "{told}");
    assert_ne!(ticks("dragged"), ticks("whole"), "{told}");
    for name in ["double", "reset"] {
        assert_eq!((points(name), ticks(name)), (whole, ticks("whole")), "{told}");
    }
    assert!(points("keys") < whole && points("button") < whole && ticks("later") != ticks("keys"), "{told}");
    assert_eq!((&told["same"], &told["inside"], &told["marked"]), (&true.into(), &true.into(), &1.into()), "{told}");
    let off = "Zoom in, Zoom out (off), Earlier part (off), Later part (off), Whole figure (off)";
    assert_eq!(told["buttons"], off);
    assert_eq!(
        (&told["unfolded"], &told["wide"], &told["still"]),
        (&true.into(), &false.into(), &false.into()),
        "{told}"
    );
}

/// A phone: a figure is there as a whole, with letters that can be read, packets scroll by themselves, and the page
/// does not.
#[test]
fn a_narrow_screen_has_no_page_that_scrolls_sideways() {
    let (folder, page) = ran("page-narrow");
    let Some(told) = driven(&folder, &page, 400) else {
        return;
    };
    assert!(told["window"].as_u64().unwrap() <= 500, "{told}");
    assert_eq!((&told["wide"], &told["still"]), (&false.into(), &false.into()), "{told}");
    assert!(told["cut"].as_array().unwrap().is_empty() && told["letters"].as_f64().unwrap() >= 11.0, "{told}");
    // Between a phone and a desk, too.
    let told = driven(&folder, &page, 800).unwrap();
    assert!(told["cut"].as_array().unwrap().is_empty() && told["letters"].as_f64().unwrap() >= 10.0, "{told}");
}

#[test]
fn nothing_of_the_page_is_somewhere_else() {
    let (_folder, page) = ran("page-alone");
    for wanted in ["http://", "https://", "src=\"", "url("] {
        let places = page.split(wanted).skip(1);
        assert!(places.into_iter().all(|behind| behind.starts_with("www.w3.org/")), "{wanted}");
    }
}

#[test]
fn the_page_says_why_it_is_slow() {
    kumiki_watchdog::minute();
    let folder = Folder::new("page-slow");
    folder.write("broken.toml", BROKEN.replace("queue_frames = 20", "queue_frames = \"${frames}\"").as_bytes());
    let printed = kumiki(&folder, &["run", "broken.toml", "--out", "out"]);
    assert!(printed.ends_with("out/report.html\nout/captures/broken (4 files)\n"), "{printed}");
    let page = String::from_utf8(folder.read("out/report.html")).unwrap();
    // At a glance.
    for said in ["Goodput", "Bound by", "TCP held back by", "Sent again", "Lost on the way", "Longest queue"] {
        assert!(page.contains(&format!("<dt>{said}</dt>")), "{said}");
    }
    // Over time, with what happened to the line, in the figure, in words and in the table.
    for figure in [
        "goodput over time",
        "congestion window over time",
        "smoothed round trip over time",
        "retransmitted over time",
        "queue over time",
        "queue drops over time",
    ] {
        assert!(page.contains(&format!("<summary>Values: {figure}")), "{figure}");
    }
    assert!(page.contains("link.line: down at 3 s") && page.contains("link.line: up, rate 5 Mb/s at 4 s"));
    assert!(page.contains("<li>At 3 s: link.line down.</li>") && page.contains("<td>link.line down</td>"));
    assert!(page.contains("<summary>Over time: frames 40</summary>"));
    assert!(page.len() < 1_000_000, "{}", page.len());
    let series = String::from_utf8(folder.read("out/captures/broken/000-series.svg")).unwrap();
    assert!(series.contains("ln pt when"));
    assert!(!page.contains("Of the first of"));
    // Of several runs the first is drawn, and that is said.
    let again = ["run", "broken.toml", "--out", "again", "--set", "frames=20", "--set", "run.repeat.runs=3"];
    kumiki(&folder, &again);
    let repeated = String::from_utf8(folder.read("again/report.html")).unwrap();
    assert!(repeated.contains("<li>Of the first of 3 runs, with the seed 1; captures/broken has the others.</li>"));
    // A later result without it leaves no trace of it.
    kumiki(
        &folder,
        &["run", "broken.toml", "--out", "out", "--force", "--set", "frames=20", "--set", "run.interval=3 s"],
    );
    assert_eq!(folder.names("out/captures/broken"), ["000-series.csv", "000-series.svg"]);
    let Some(told) = driven(&folder, &page, 400) else {
        return;
    };
    assert_eq!(told["wide"], false, "{told}");
}
