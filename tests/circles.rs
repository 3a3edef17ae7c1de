//! What keeps the sources easy to read. No two files of a crate import each other in a circle, so a reader can begin with a file that imports none. The
//! contract crate stays small.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, UseTree, Visibility};

/// The path of a module, or of an item in it: `["simd", "network"]`.
type Names = Vec<String>;

#[test]
fn no_files_import_each_other_in_a_circle() {
    let crates = crates(Path::new(env!("CARGO_MANIFEST_DIR")));
    let names: Vec<_> = crates.iter().filter_map(|folder| folder.file_name()?.to_str()).collect();
    assert!(["core", "shaders", "kit", "wgpu"].iter().all(|name| names.contains(name)), "{names:?}");
    let circles = crates.iter().filter_map(|folder| {
        let circle = circle(&imports(&sources(&folder.join("src"))))?;
        Some(format!("{}: {}", folder.display(), circle.iter().map(|file| file.join("::")).collect::<Vec<_>>().join(" imports ")))
    });
    let circles: Vec<String> = circles.collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn a_circle_is_found() {
    let files = [
        ("", "mod a; mod b; mod c; pub use c::Shown;"),
        ("a", "use crate::{Shown, b::{self, Thing}};"),
        ("b", "fn f() { crate::c::g() }"),
        ("c", "pub struct Shown; #[cfg(test)] mod tests { use crate::a; }"),
    ];
    let of = |last: &str| {
        let names = |name: &str| if name.is_empty() { vec![] } else { vec![name.to_owned()] };
        let mut sources: BTreeMap<Names, syn::File> =
            files.iter().map(|(name, text)| (names(name), syn::parse_str(text).expect("Rust"))).collect();
        sources.insert(names("c"), syn::parse_str(last).expect("Rust"));
        circle(&imports(&sources))
    };
    assert_eq!(of(files[3].1), None);
    assert!(
        of("pub struct Shown; use super::a::Other;").is_some_and(|circle| circle.len() == 3),
        "a → c (by its name at the root) → a"
    );
}

/// The most lines of code of `polysort-core`.
const MOST_LINES_OF_CORE: usize = 2300;

#[test]
fn the_contract_crate_stays_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("backends/core/src");
    let files = fs::read_dir(&folder).expect("a folder of sources").map(|entry| {
        let path = entry.expect("an entry").path();
        assert!(
            path.extension().is_some_and(|extension| extension == "rs"),
            "{} is no source file: count it too",
            path.display()
        );
        let lines = lines_of_code(&fs::read_to_string(&path).expect("a file"));
        (lines, path.file_name().expect("a file").to_string_lossy().into_owned())
    });
    let mut files: Vec<(usize, String)> = files.collect();
    files.sort_by(|a, b| b.cmp(a));
    let lines: usize = files.iter().map(|(lines, _)| lines).sum();
    assert!(
        lines <= MOST_LINES_OF_CORE,
        "polysort-core has {lines} lines of code, {} too many. It has keys, order, segments, errors and the contract of backends: move other \
         things to a crate above it, or simplify. Its files, by lines: {files:?}",
        lines - MOST_LINES_OF_CORE
    );
}

/// The lines that are neither blank nor comments, without test modules.
fn lines_of_code(text: &str) -> usize {
    let (mut count, mut lines) = (0, text.lines());
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            // The module is another file, or ends where a bracket closes it, at the start of a line.
            if lines.next().is_some_and(|module| !module.ends_with(';')) {
                lines.by_ref().find(|line| line.starts_with('}'));
            }
        } else if !line.trim().is_empty() && !line.trim_start().starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn comments_blank_lines_and_test_modules_are_no_code() {
    let text = "//! Docs.\n\nuse a::b; // one\n    // no\nfn f() {\n    g(\"//\");\n}\n\n#[cfg(test)]\nmod tests {\n    use a;\n}\nstruct S;\n";
    assert_eq!(lines_of_code(text), 5);
    assert_eq!(lines_of_code("#[cfg(test)]\nmod tests;\nstruct S;\n"), 1);
}

/// The folders of all crates of the workspace.
fn crates(root: &Path) -> Vec<PathBuf> {
    let (mut crates, mut folders) = (vec![], vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        let inner = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let is_ours = |path: &PathBuf| path.is_dir() && !["target", ".git", "src"].iter().any(|other| path.ends_with(other));
        folders.extend(inner.filter(is_ours));
        if folder.join("Cargo.toml").is_file() {
            crates.push(folder);
        }
    }
    crates
}

/// The files of a crate, by the path of their module. The root is empty.
fn sources(folder: &Path) -> BTreeMap<Names, syn::File> {
    let mut sources = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), Names::new())];
    while let Some((folder, module)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8").to_owned();
            let inner = || [module.clone(), vec![stem.clone()]].concat();
            if path.is_dir() {
                // Programs beside a library are crates of their own.
                if stem != "bin" {
                    folders.push((path.clone(), inner()));
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_folder = ["lib", "main", "mod"].contains(&&*stem);
                let text = fs::read_to_string(&path).expect("a file");
                let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                sources.insert(if is_folder { module.clone() } else { inner() }, file);
            }
        }
    }
    sources
}

/// The files that each file names in imports and paths. Tests inside a file do not count, nor does what a file exports from others.
fn imports(sources: &BTreeMap<Names, syn::File>) -> BTreeMap<Names, BTreeSet<Names>> {
    let named = sources.iter().map(|(module, file)| {
        let mut paths = Paths { sources, module, named: vec![], exports: BTreeMap::new() };
        paths.visit_file(file);
        (module, paths)
    });
    let named: Vec<(&Names, Paths<'_>)> = named.collect();
    let exports: BTreeMap<Names, Names> = named.iter().flat_map(|(_, paths)| paths.exports.clone()).collect();
    let file_of = |path: &Names| {
        let mut path = path.clone();
        loop {
            // The longest part of the path that is a file.
            let len = (0..=path.len()).rev().find(|&len| sources.contains_key(&path[..len]))?;
            match path.get(..=len).and_then(|shown| exports.get(shown)) {
                Some(origin) if *origin != path[..=len] => path = [origin.clone(), path[len + 1..].to_vec()].concat(),
                _ => return Some(path[..len].to_vec()),
            }
        }
    };
    let files = |paths: &Paths<'_>| {
        paths.named.iter().filter_map(file_of).filter(|file| file != paths.module && !file.is_empty()).collect()
    };
    named.iter().filter(|(module, _)| !module.is_empty()).map(|(module, paths)| ((*module).clone(), files(paths))).collect()
}

/// All names that a `use` brings in: their paths, and what they are called here.
fn leaves(tree: &UseTree, before: &mut Names, found: &mut Vec<(Names, String)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            leaves(&path.tree, before, found);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, found)),
        UseTree::Name(name) => found.push(([before.clone(), vec![name.ident.to_string()]].concat(), name.ident.to_string())),
        UseTree::Rename(name) => found.push(([before.clone(), vec![name.ident.to_string()]].concat(), name.rename.to_string())),
        UseTree::Glob(_) => found.push((before.clone(), "*".into())),
    }
}

/// Collects the paths of a file that stay in its crate, from the root on.
struct Paths<'a> {
    sources: &'a BTreeMap<Names, syn::File>,
    module: &'a Names,
    named: Vec<Names>,
    /// What the file shows of others: its path here, and its path there.
    exports: BTreeMap<Names, Names>,
}

impl Paths<'_> {
    /// The path from the root on; `None` for one that leaves the crate, or names what is in scope.
    fn absolute(&self, path: &[String]) -> Option<Names> {
        let above = path.iter().take_while(|name| *name == "super").count();
        let within = |module: &[String], rest: &[String]| [module, rest].concat();
        match path.first().map(String::as_str)? {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some(within(self.module, &path[1..])),
            "super" => Some(within(&self.module[..self.module.len().checked_sub(above)?], &path[above..])),
            _ => Some(within(self.module, path)).filter(|_| self.sources.contains_key(&within(self.module, &path[..1]))),
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let is_test = |attribute: &Attribute| {
            attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
        };
        if !item.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, item);
        }
    }

    /// `pub(super)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = vec![];
        leaves(&item.tree, &mut vec![], &mut paths);
        for (path, name) in paths {
            let Some(path) = self.absolute(&path) else { continue };
            if matches!(item.vis, Visibility::Inherited) {
                self.named.push(path);
            } else {
                self.exports.insert([self.module.clone(), vec![name]].concat(), path);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.named.extend(self.absolute(&names));
        visit::visit_path(self, path);
    }
}

/// A circle of files, each of which imports the next one; the last imports the first.
fn circle(imports: &BTreeMap<Names, BTreeSet<Names>>) -> Option<Vec<Names>> {
    fn search(
        file: &Names,
        imports: &BTreeMap<Names, BTreeSet<Names>>,
        way: &mut Vec<Names>,
        done: &mut BTreeSet<Names>,
    ) -> Option<Vec<Names>> {
        if let Some(start) = way.iter().position(|before| before == file) {
            return Some(way[start..].to_vec());
        }
        if !done.insert(file.clone()) {
            return None;
        }
        way.push(file.clone());
        let found = imports.get(file).into_iter().flatten().find_map(|next| search(next, imports, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|file| search(file, imports, &mut vec![], &mut done))
}
