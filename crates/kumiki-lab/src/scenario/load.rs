//! From a file to points: names replaced, hosts that are like others filled in, everything read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::ScenarioKeys;
use super::expand::{Expander, NUMBER, Use, check_defined};
use super::label::Notation;
use super::vary::{Axis, MOST_POINTS, axis, fault_at, is_name, names, product, same};
use super::{
    Compare, Host, Report, Scenario, Trend, check, directions, ends, event, groups, network, real, set, stacks,
};
use crate::profile::Profile;
use kumiki_config::error::{ConfigError, nearest};
use kumiki_config::tree::{Entry, Node, Origin, Source, Value};

/// A scenario file that is TOML, with everything still to be chosen.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    file: String,
    text: Arc<str>,
    root: Arc<Node>,
    /// Whether names that vary and are not used were told of already.
    is_told_of_unused: bool,
}

/// What the command line chooses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// `name=value` for a defined or varied name, or `host.a.tcp.mss=1460 B` for any other value.
    pub set: Vec<String>,
    /// The values of `[quick]` in the place of the full ones.
    pub quick: bool,
    /// Where a scenario asks for a fixed number of runs, no more than these.
    pub runs: Option<u32>,
}

/// One combination of what is varied, ready to run.
#[derive(Clone, Debug)]
pub struct Point {
    /// The scenario with these values put in. Clones of a point share it.
    pub scenario: Arc<Scenario>,
    /// What is varied, in the order of the file, with its values here.
    pub varied: Vec<(String, toml::Value)>,
    /// The number of the point among those of its scenario, from 0.
    pub index: usize,
    profiles: Profiles,
    origin: PointOrigin,
}

/// Profiles by name, as their files were when points were made of a scenario: whoever edits one while it runs changes
/// nothing.
pub(crate) type Profiles = BTreeMap<String, Arc<Profile>>;

/// What a point is made of. All that is the same for all points of a scenario they share, and the text of one is made
/// again when somebody asks for it: a sweep has many points.
#[derive(Clone, Debug)]
struct PointOrigin {
    shared: Arc<Shared>,
    combination: Vec<(String, Node)>,
}

/// What all points of a scenario are made of.
#[derive(Debug)]
struct Shared {
    file: String,
    sets: Vec<String>,
    root: Node,
    /// As it is written, before names are replaced and hosts take from others.
    written: Arc<Node>,
    is_settled: bool,
    defines: Vec<Entry>,
    /// How rows have the values of varied names of which some are quantities and others are not.
    notations: BTreeMap<String, Notation>,
}

/// The document of one point.
#[derive(Debug)]
struct Resolved<'a> {
    shared: &'a Shared,
    root: Node,
    uses: Vec<Use>,
}

/// Gives hosts what they take from those they are like, before names are replaced. False where a name is needed to know
/// who that is: then it can only be done later.
fn settle(source: &Source<'_>, root: &mut Node) -> Result<bool, ConfigError> {
    let Some(hosts) = root.child_mut("host") else {
        return Ok(true);
    };
    let models = hosts.entries().iter();
    let mut models = models.filter_map(|host| super::like::model(&host.node));
    if models.any(|model| model.contains("${")) {
        return Ok(false);
    }
    super::like::fill_in(source, hosts)?;
    Ok(true)
}

/// The tables that say how a scenario becomes points; no names are replaced in them.
const APART: [&str; 7] = ["define", "vary", "quick", "skip", "compare", "trend", "claim"];

/// How it begins what is said of a varied name that nothing uses.
pub(super) const UNUSED: &str = "nothing in the scenario uses ${";

/// The most octets of a file: forty times the longest of ours. Each value that is read takes hundreds.
pub(super) const LONGEST_FILE: usize = 256 * 1024;

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where it cannot be read or is not TOML.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let text = kumiki_config::error::read_file(path)?;
        let name = path.file_stem().map_or_else(|| shown.clone(), |stem| stem.to_string_lossy().into_owned());
        Self::parse(&name, &shown, &text)
    }

    /// Reads a text that is called `name` in results and `file` in messages.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where it is not TOML, or has more than 262,144 octets.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, ConfigError> {
        if text.len() > LONGEST_FILE {
            let problem = format!("{} octets; a scenario has at most {LONGEST_FILE}", text.len());
            return Err(ConfigError::new(problem).in_file(file));
        }
        let root = Node::parse(text).map_err(|fault| fault.in_file(file))?;
        Ok(Self {
            name: name.to_owned(),
            file: file.to_owned(),
            text: text.into(),
            root: Arc::new(root),
            is_told_of_unused: false,
        })
    }

    /// The scenario that the command line names: a path where it has a slash or ends in `.toml`, otherwise one of those
    /// built in.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] where there is none, or it is not TOML.
    pub fn find(name: &str) -> Result<Self, ConfigError> {
        if name.contains('/') || name.ends_with(".toml") {
            return Self::load(Path::new(name));
        }
        let builtin = super::builtin::SCENARIOS;
        match builtin.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::parse(name, &format!("scenarios/{name}.toml"), text),
            None => {
                let names = Self::builtin_names();
                let fault = ConfigError::new(format!("there is no scenario {name:?}"));
                let on_disk = [format!("{name}.toml"), format!("./{name}")];
                let on_disk = on_disk.iter().find(|path| Path::new(path).is_file());
                Err(if let Some(path) = on_disk {
                    fault.suggest(format!("the file {path}"))
                } else if let Some(near) = nearest(name, &names) {
                    fault.suggest(near)
                } else {
                    fault.expected(
                        "a name that `kumiki scenarios` lists, or a file: a path with a slash or ending in .toml",
                    )
                })
            }
        }
    }

    /// The names of all scenarios that are built in, in their order.
    #[must_use]
    pub fn builtin_names() -> Vec<&'static str> {
        super::builtin::SCENARIOS.iter().map(|(name, _)| *name).collect()
    }

    /// All scenarios that are built in, in the order of their names.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] of the first that is not TOML.
    pub fn builtin() -> Result<Vec<Self>, ConfigError> {
        super::builtin::SCENARIOS
            .iter()
            .map(|(name, text)| Self::parse(name, &format!("scenarios/{name}.toml"), text))
            .collect()
    }

    /// The name: that of the file without `.toml`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says that it is, in a line; empty where it does not.
    #[must_use]
    pub fn title(&self) -> String {
        let title = self.root.child("title").and_then(|node| node.read().ok());
        title.unwrap_or_default()
    }

    /// The file, as messages name it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text, as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The paper's figure or table, as the file names it; empty where it does not.
    #[must_use]
    pub fn figure(&self) -> String {
        self.root.child("figure").and_then(|node| node.read().ok()).unwrap_or_default()
    }

    /// All that is in it.
    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// From now on nothing is said of names that vary and are not used.
    pub(super) const fn tell_no_unused(&mut self) {
        self.is_told_of_unused = true;
    }

    /// Puts `node` at `path`.
    pub(super) fn put(&mut self, path: &[String], node: Node) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        // Where there is no table nothing is put.
        let _ = Arc::make_mut(&mut self.root).set(&path, node);
    }

    /// Takes away what is at `path`; false where there is no such key of a table.
    pub(super) fn remove(&mut self, path: &[String]) -> bool {
        Arc::make_mut(&mut self.root).remove(path)
    }

    /// Gives the section `from` the name `to`: with what is there already it makes one. Nothing where that cannot be.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> Option<()> {
        // A key of a table is no section.
        if to.contains('.') {
            return None;
        }
        let root = Arc::make_mut(&mut self.root);
        let node = root.child(from)?.clone();
        root.remove(&[from.to_owned()]);
        if root.child(to).is_none() {
            return root.set(&[to], node).ok();
        }
        for Entry { key, node, .. } in node.entries() {
            if root.child(to)?.child(key).is_some() {
                return None;
            }
            root.set(&[to, key], node.clone()).ok()?;
        }
        Some(())
    }

    /// The paper it says it repeats, before anything else of it is read.
    #[must_use]
    pub fn paper(&self) -> Option<u8> {
        self.root.child("paper").and_then(|node| node.read().ok())
    }

    /// All combinations of what is varied, less those that are skipped, each complete and checked as far as that is
    /// possible without knowing the protocols.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: the first thing that is wrong.
    pub fn points(&self, choice: &Choice) -> Result<Vec<Point>, ConfigError> {
        let mut root = Node::clone(&self.root);
        let source = Source { file: &self.file, root: &self.root, sets: &choice.set, keys: &ScenarioKeys };
        check::sections(&source)?;
        let mut axes = self.axes(&source)?;
        let full = axes.clone();
        let mut defines: Vec<Entry> = section(&source, "define")?.to_vec();
        self.check_names(&source, &axes, &defines)?;
        self.check_lists(&source, &full)?;
        // It is judged also where it is not asked for.
        let quick = self.quick(&source, &axes, &defines)?;
        if choice.quick {
            (axes, defines) = quick;
        }
        let is_settled = set_all(&source, &choice.set, (&mut axes, &mut defines), &mut root)?;
        // What was set there is judged like what was written.
        let changed = Source { root: &root, ..source.clone() };
        if let Some(node) = root.child("report") {
            let report: Report = node.read().map_err(|problem| problem.fault(&changed, &["report"]))?;
            check::report(&changed, &report, &full)?;
        }
        let combinations = product(&axes).ok_or_else(|| source.locate(too_many()))?;
        let skips = section_list(&source, "skip")?;
        // Each point has its own values. With all of them in the text of each, a thousand points would be a million
        // values.
        if let Some(vary) = root.child_mut("vary") {
            vary.value = Value::Table(Vec::new());
        }
        let shared = Arc::new(Shared {
            file: self.file.clone(),
            sets: choice.set.clone(),
            root,
            written: Arc::clone(&self.root),
            is_settled,
            defines: defines.clone(),
            notations: notations(&axes),
        });
        if let Some(first) = combinations.first() {
            check_defined(&source, first, &defines)?;
        }
        let (points, used) = made(&shared, combinations, skips)?;
        if points.is_empty() {
            return Err(source.locate(ConfigError::at(["skip"], "every combination is skipped")));
        }
        if !self.is_told_of_unused {
            self.check_used(&source, &axes, &used)?;
        }
        Ok(points)
    }

    pub(super) fn axes(&self, source: &Source<'_>) -> Result<Vec<Axis>, ConfigError> {
        section(source, "vary")?.iter().map(|entry| axis(source, "vary", entry)).collect()
    }

    /// No name twice, and none that cannot be written as `${name}`.
    fn check_names(&self, source: &Source<'_>, axes: &[Axis], defines: &[Entry]) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for name in axes.iter().flat_map(|axis| &axis.names) {
            if name == NUMBER {
                let fault = ConfigError::at(["vary"], "${i} is the number within a group").expected("another name");
                return Err(source.locate(fault));
            }
            if !seen.insert(name.as_str()) {
                return Err(source.locate(ConfigError::at(["vary"], format!("{name:?} varies twice"))));
            }
        }
        for entry in defines {
            let path = ["define", entry.key.as_str()];
            if !is_name(&entry.key) {
                return Err(fault_at(source, &path, entry.at, format!("{:?} is not a name", entry.key))
                    .expected("letters, digits, _ and -"));
            }
            if entry.key == NUMBER {
                return Err(
                    fault_at(source, &path, entry.at, "${i} is the number within a group").expected("another name")
                );
            }
            if seen.contains(entry.key.as_str()) {
                return Err(fault_at(source, &path, entry.at, format!("{:?} is both defined and varied", entry.key)));
            }
        }
        Ok(())
    }

    /// `[[skip]]`, `[[compare]]` and `[report]` speak of varied names, and of values that these have.
    fn check_lists(&self, source: &Source<'_>, axes: &[Axis]) -> Result<(), ConfigError> {
        for (number, skip) in section_list(source, "skip")?.iter().enumerate() {
            let number = number.to_string();
            check::values_of(source, &["skip", &number], skip, axes)?;
        }
        for (number, node) in section_list(source, "compare")?.iter().enumerate() {
            let number = number.to_string();
            let path = ["compare", number.as_str()];
            let compare: Compare = node.read().map_err(|problem| problem.fault(source, &path))?;
            super::claim::reading(source, &path, compare.reading.as_ref())?;
            if let Some(at) = node.child("at") {
                check::values_of(source, &["compare", &number, "at"], at, axes)?;
            }
        }
        for (number, node) in section_list(source, "trend")?.iter().enumerate() {
            let number = number.to_string();
            let path = ["trend", number.as_str()];
            let trend: Trend = node.read().map_err(|problem| problem.fault(source, &path))?;
            super::claim::reading(source, &path, trend.reading.as_ref())?;
            for key in ["of", "at"] {
                if let Some(table) = node.child(key) {
                    check::values_of(source, &["trend", &number, key], table, axes)?;
                }
            }
        }
        super::claim::check(source, section_list(source, "claim")?, axes)?;
        if let Some(node) = self.root.child("report") {
            let report: Report = node.read().map_err(|problem| problem.fault(source, &["report"]))?;
            check::report(source, &report, axes)?;
        }
        Ok(())
    }

    /// Varying a name that nothing uses repeats the same run under different labels.
    fn check_used(&self, source: &Source<'_>, axes: &[Axis], used: &BTreeSet<String>) -> Result<(), ConfigError> {
        for axis in axes.iter().filter(|axis| axis.rows.len() > 1) {
            if !axis.names.iter().any(|name| used.contains(name)) {
                let key = axis.names.join(", ");
                let name = axis.names.first().map_or("", String::as_str);
                let path = ["vary", key.as_str()];
                return Err(source.locate(ConfigError::at(
                    path,
                    format!("{UNUSED}{name}}}, so all its values would give the same"),
                )));
            }
        }
        Ok(())
    }

    /// The axes and definitions with the shorter values of `[quick]`.
    fn quick(
        &self,
        source: &Source<'_>,
        axes: &[Axis],
        defines: &[Entry],
    ) -> Result<(Vec<Axis>, Vec<Entry>), ConfigError> {
        let (mut axes, mut defines) = (axes.to_vec(), defines.to_vec());
        for entry in section(source, "quick")? {
            if let Some(define) = defines.iter_mut().find(|define| define.key == entry.key) {
                define.node = entry.node.clone();
                continue;
            }
            let names = names(&entry.key);
            if let Some(before) = axes.iter_mut().find(|axis| axis.names == names) {
                *before = axis(source, "quick", entry)?;
                continue;
            }
            let mut known: Vec<String> = axes.iter().map(|axis| axis.names.join(", ")).collect();
            known.extend(defines.iter().map(|define| define.key.clone()));
            let path = ["quick", entry.key.as_str()];
            return Err(source.locate(ConfigError::unknown(path, "name", &entry.key, &known)));
        }
        Ok((axes, defines))
    }
}

/// Does what `--set` says, in `root` and in what is varied and defined. Whether hosts have been [settled](settle) for
/// that.
fn set_all<'a>(
    source: &Source<'a>,
    sets: &'a [String],
    (axes, defines): (&mut Vec<Axis>, &mut [Entry]),
    root: &mut Node,
) -> Result<bool, ConfigError> {
    let mut settings: Vec<(Vec<&str>, Node)> = Vec::new();
    for (number, text) in sets.iter().enumerate() {
        set::apply(source, number, text, (&mut *axes, &mut *defines), &mut settings)?;
    }
    // What a host is like is settled before one of them is changed: what is set is set there, and nowhere else. Which
    // host one is like may be chosen as well; that comes first.
    let is_like = |path: &[&str]| matches!(path, ["host", _, "like"]);
    settings.sort_by_key(|(path, _)| !is_like(path));
    let mut is_settled = false;
    for (path, node) in settings {
        if path.first() == Some(&"host") && !is_like(&path) && !is_settled {
            is_settled = settle(source, root)?;
        }
        let at = node.at;
        unfold(root, &path, defines);
        root.set(&path, node)
            .map_err(|part| fault_at(source, &path, at, format!("there is no table above {part:?}")))?;
    }
    Ok(is_settled)
}

/// The points of `combinations` but for those that are skipped, and the names that these use.
fn made(
    shared: &Arc<Shared>,
    combinations: Vec<Vec<(String, Node)>>,
    skips: &[Node],
) -> Result<(Vec<Point>, BTreeSet<String>), ConfigError> {
    let (mut used, mut profiles) = (BTreeSet::new(), Profiles::new());
    let mut points: Vec<Point> = Vec::new();
    for combination in combinations {
        let varied: Vec<(String, toml::Value)> =
            combination.iter().map(|(name, node)| (name.clone(), node.to_toml())).collect();
        if skips.iter().any(|skip| holds(skip, &varied)) {
            continue;
        }
        let resolved = shared.resolve(&combination, &mut used)?;
        let earlier = points.last().map(|point| &*point.scenario);
        let origin = PointOrigin { shared: Arc::clone(shared), combination };
        let point = Point::new(origin, &resolved, varied, points.len(), &mut profiles, earlier)?;
        points.push(point);
    }
    Ok((points, used))
}

/// How rows have the values of the names that vary, where not each value says for itself what it is.
fn notations(axes: &[Axis]) -> BTreeMap<String, Notation> {
    let of_axis = |axis: &Axis| -> Vec<(String, Notation)> {
        let of = |(place, name): (usize, &String)| {
            let values: Vec<toml::Value> = axis.rows.iter().filter_map(|row| Some(row.get(place)?.to_toml())).collect();
            Some((name.clone(), Notation::of(name, values.iter())?))
        };
        axis.names.iter().enumerate().filter_map(of).collect()
    };
    axes.iter().flat_map(of_axis).collect()
}

impl Shared {
    /// The document of the point of `combination`.
    fn resolve(
        &self,
        combination: &[(String, Node)],
        used: &mut BTreeSet<String>,
    ) -> Result<Resolved<'_>, ConfigError> {
        let mut settled = self.root.clone();
        let source = Source { file: &self.file, root: &self.root, sets: &self.sets, keys: &ScenarioKeys };
        if !self.is_settled
            && let Some(hosts) = settled.child_mut("host")
        {
            let mut expander = Expander::new(source.clone(), combination, &self.defines, used);
            super::like::choose(&mut expander, hosts)?;
            super::like::fill_in(&source, hosts)?;
        }
        let root = &settled;
        let source = Source { root, ..source };
        let mut entries = Vec::with_capacity(root.entries().len());
        let mut uses = Vec::new();
        for entry in root.entries() {
            let key = entry.key.as_str();
            let mut expander = Expander::new(source.clone(), combination, &self.defines, used);
            let node = if APART.contains(&key) {
                entry.node.clone()
            } else if groups::GROUPED.contains(&key) {
                groups::expand(&mut expander, key, &entry.node)?
            } else {
                expander.top(key, &entry.node)?
            };
            uses.append(&mut expander.uses);
            entries.push(Entry { key: entry.key.clone(), at: entry.at, node });
        }
        let mut root = Node { at: root.at, value: Value::Table(entries) };
        super::filled::fill_in(&source, &mut root)?;
        Ok(Resolved { shared: self, root, uses })
    }
}

impl PointOrigin {
    /// The document of the point. It was made before, so nothing can go wrong.
    fn resolve(&self) -> Option<Resolved<'_>> {
        self.shared.resolve(&self.combination, &mut BTreeSet::new()).ok()
    }
}

impl Point {
    fn new(
        origin: PointOrigin,
        resolved: &Resolved<'_>,
        varied: Vec<(String, toml::Value)>,
        index: usize,
        known: &mut Profiles,
        earlier: Option<&Scenario>,
    ) -> Result<Self, ConfigError> {
        let source = resolved.source();
        check::keys(&source)?;
        let mut scenario: Scenario = resolved.root.read().map_err(|problem| problem.fault(&source, &[]))?;
        let loads = resolved.root.child("load").map(Node::entries).unwrap_or_default();
        scenario.load_order = loads.iter().map(|entry| entry.key.clone()).collect();
        stacks::check(&scenario).map_err(|fault| resolved.locate(fault))?;
        real::settle(&mut scenario).map_err(|fault| resolved.locate(fault))?;
        ends::settle(&mut scenario).map_err(|fault| resolved.locate(fault))?;
        event::settle(&mut scenario).map_err(|fault| resolved.locate(fault))?;
        let interfaces = network::settle(&mut scenario).map_err(|fault| resolved.locate(fault))?;
        directions::settle(&mut scenario);
        check::scenario(&scenario, known)
            .and_then(|()| network::check(&scenario, &interfaces))
            .map_err(|fault| resolved.locate(fault))?;
        let named = |host: &Host| known.get_key_value(host.profile_name());
        let profiles = scenario.host.values().filter_map(named).map(|(name, it)| (name.clone(), Arc::clone(it)));
        let profiles = profiles.collect();
        if let Some(earlier) = earlier {
            scenario.share(earlier);
        }
        let scenario = Arc::new(scenario);
        Ok(Self { profiles, scenario, varied, index, origin })
    }

    /// The profiles of its hosts, by name.
    #[must_use]
    pub const fn profiles(&self) -> &BTreeMap<String, Arc<Profile>> {
        &self.profiles
    }

    /// The file, as messages name it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.origin.shared.file
    }

    /// The text of the point: all of the scenario, with names and `--set` put in, but for the tables that make points
    /// of it or judge them.
    #[must_use]
    pub fn resolved(&self) -> toml::Table {
        let resolved = self.origin.resolve();
        let entries = resolved.iter().flat_map(|resolved| resolved.root.entries());
        let entries = entries.filter(|entry| !APART.contains(&entry.key.as_str()));
        entries.map(|entry| (entry.key.clone(), entry.node.to_toml())).collect()
    }

    /// `fault` with the file, and the line and the value that its path leads to.
    #[must_use]
    pub fn locate(&self, fault: ConfigError) -> ConfigError {
        match self.origin.resolve() {
            Some(resolved) => resolved.locate(fault),
            None => fault,
        }
    }

    /// How rows have the values of this name, where not each by itself.
    pub(crate) fn notation(&self, name: &str) -> Option<Notation> {
        self.origin.shared.notations.get(name).copied()
    }

    /// The paper's value for this point, where it prints one.
    #[must_use]
    pub fn compare(&self) -> Option<&Compare> {
        let mut all = self.scenario.compare.iter();
        all.find(|compare| self.is_at(&compare.at))
    }

    /// Whether the point has all of these values; of a list, any.
    #[must_use]
    pub fn is_at(&self, values: &toml::Table) -> bool {
        let has = |(name, wanted): (&String, &toml::Value)| {
            let is = |value: &toml::Value| {
                let mut any = wanted.as_array().into_iter().flatten();
                same(value, wanted) || any.any(|one| same(value, one))
            };
            self.varied.iter().any(|(n, value)| n == name && is(value))
        };
        values.iter().all(has)
    }
}

impl Resolved<'_> {
    /// `fault` with its place; where the value is one of what is varied, also with that.
    fn locate(&self, fault: ConfigError) -> ConfigError {
        let path = fault.path().to_vec();
        let found = self.uses.iter().find(|(at, ..)| !path.is_empty() && path.starts_with(at));
        let fault = self.source().locate(fault);
        let fault = match fault.line_and_column().and_then(|(line, column)| self.shared.written.path_to(line, column)) {
            Some(written) if is_of_model(&path, &written) => fault.moved(written),
            Some(_) | None => fault,
        };
        match found {
            Some((_, name, Origin::Line(line, _), is_part)) => {
                let how = if *is_part { "worked out with" } else { "a value of" };
                fault.given_by(&format!("{how} vary.{name} in line {line}"))
            }
            Some((_, _, Origin::Set(_), _)) | None => fault,
        }
    }

    fn source(&self) -> Source<'_> {
        Source { file: &self.shared.file, root: &self.root, sets: &self.shared.sets, keys: &ScenarioKeys }
    }
}

/// Whether what is told at `path` is `written` at another host, which that of the path is like.
fn is_of_model(path: &[String], written: &[String]) -> bool {
    match (path, written) {
        ([one, host, rest @ ..], [other, model, same @ ..]) => {
            one == "host" && one == other && host != model && !groups::is_member(host, model) && rest == same
        }
        _ => false,
    }
}

/// Puts tables that are defined in the place of their names above the end of `path`, so that a part of one can be set
/// there and nowhere else.
fn unfold(root: &mut Node, path: &[&str], defines: &[Entry]) {
    let mut here = root;
    for key in path.iter().take(path.len().saturating_sub(1)) {
        let Some(child) = here.child_mut(key) else {
            return;
        };
        if let Some(table) = defined_table(child, defines) {
            *child = table.clone();
        }
        here = child;
    }
}

/// The table that `node` is a name of, perhaps by way of other names.
fn defined_table<'a>(node: &Node, defines: &'a [Entry]) -> Option<&'a Node> {
    let mut named = node;
    // Names that go round are told of when they are replaced.
    for _ in 0..=defines.len() {
        let Value::Text(text) = &named.value else {
            return None;
        };
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        let found = &defines.iter().find(|define| define.key == name)?.node;
        if let Value::Table(_) = &found.value {
            return Some(found);
        }
        named = found;
    }
    None
}

/// The entries of a table at the top; none where it is missing.
fn section<'a>(source: &Source<'a>, name: &str) -> Result<&'a [Entry], ConfigError> {
    match source.root.child(name) {
        None => Ok(&[]),
        Some(node) if matches!(node.value, Value::Table(_)) => Ok(node.entries()),
        Some(node) => Err(fault_at(source, &[name], node.at, format!("this is {}", node.kind()))
            .expected(format!("a table, [{name}]"))),
    }
}

/// The tables of a list of tables at the top; none where it is missing.
pub(super) fn section_list<'a>(source: &Source<'a>, name: &str) -> Result<&'a [Node], ConfigError> {
    let Some(node) = source.root.child(name) else {
        return Ok(&[]);
    };
    match &node.value {
        Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Table(_))) => Ok(items),
        Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::List(_) | Value::Table(_) => {
            Err(fault_at(source, &[name], node.at, format!("this is {}", node.kind()))
                .expected(format!("tables, each with [[{name}]] above it")))
        }
    }
}

/// Whether all that `skip` says holds at this combination; a list means any of its values.
pub(super) fn holds(skip: &Node, varied: &[(String, toml::Value)]) -> bool {
    skip.entries().iter().all(|entry| {
        let Some((_, value)) = varied.iter().find(|(name, _)| *name == entry.key) else {
            return false;
        };
        match &entry.node.value {
            Value::List(items) => items.iter().any(|item| same(&item.to_toml(), value)),
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::Table(_) => {
                same(&entry.node.to_toml(), value)
            }
        }
    })
}

/// That there are more points than anybody would run.
pub(super) fn too_many() -> ConfigError {
    ConfigError::at(["vary"], format!("more than {MOST_POINTS} combinations"))
}
