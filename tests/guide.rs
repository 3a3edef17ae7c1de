//! The guide: the summary lists each chapter, each link leads somewhere, and each block of Rust is a test.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

const CHAPTERS: &str = "docs/guide/src";
const SUMMARY: &str = "SUMMARY.md";

/// Links to files of the repository outside the guide begin with this.
const REPOSITORY: &str = "https://github.com/polysort/polysort/blob/main/";

/// The columns of code that a page of the book shows.
const COLUMNS: usize = 86;

#[test]
fn the_summary_lists_each_chapter_once() {
    let mut chapters = markdown_files();
    chapters.remove(SUMMARY);
    let listed = links(&text(SUMMARY));
    assert_eq!(BTreeSet::from_iter(listed.clone()), chapters);
    assert_eq!(listed.len(), chapters.len(), "a chapter is listed twice");
}

#[test]
fn each_link_leads_somewhere() {
    let texts: BTreeMap<String, String> = markdown_files().into_iter().map(|file| (file.clone(), expanded(&file))).collect();
    let all: Vec<(&str, String)> =
        texts.iter().flat_map(|(file, text)| links(text).into_iter().map(move |link| (&**file, link))).collect();
    assert!(all.len() > 60, "{}", all.len());
    let broken: Vec<String> = all
        .iter()
        .filter_map(|(file, link)| broken(link, file, &texts).map(|why| format!("{file}: the link `{link}` {why}")))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let file = |text: &str| text.to_owned();
    let texts = BTreeMap::from([(file("a.md"), file("# One\n## Two words: `b_c`")), (file("b.md"), file("# One\n# One"))]);
    let why = |link: &str| broken(link, "a.md", &texts);
    for right in ["b.md", "#one", "#two-words-b_c", "b.md#one-1", "a.md#one", "https://docs.rs"] {
        assert_eq!(why(right), None, "{right}");
    }
    assert_eq!(why(&format!("{REPOSITORY}README.md#how-fast")), None);
    for wrong in ["c.md", "#three", "b.md#one-2", "b.md#two-words-b_c", "../b.md"] {
        assert!(why(wrong).is_some(), "{wrong}");
    }
    assert!(why(&format!("{REPOSITORY}README.md#how-slow")).is_some());
    assert!(why(&format!("{REPOSITORY}no-file.rs")).is_some());
}

/// A block that a reader copies works. Blocks that need a GPU, measure, or end the program are compiled and do not run.
#[test]
fn each_block_of_rust_is_a_test() {
    let tested = fs::read_to_string(root().join("src/guide.rs")).expect("the list of tested chapters");
    let mut blocks = 0;
    for file in markdown_files() {
        for (kind, code) in code_blocks(&text(&file)) {
            match &*kind {
                "rust" => {}
                "rust,no_run" => {
                    let needs_more = ["gpu", "WgpuBackend", "calibrate", "suite.run()"].iter().any(|name| code.contains(name));
                    assert!(needs_more, "{file}: a block that needs no GPU runs:\n{code}");
                }
                // An example of the repository, which is compiled and run as such.
                "rust,ignore" => {
                    let included = includes(&code);
                    let is_example =
                        included.first().is_some_and(|(whole, path, _)| code.trim() == whole && path.contains("/examples/"));
                    assert!(is_example, "{file}: only a whole example may be ignored:\n{code}");
                    continue;
                }
                other => {
                    assert!(!other.contains("rust"), "{file}: {other}");
                    continue;
                }
            }
            blocks += 1;
            assert!(tested.contains(&format!("\"{file}\"")), "src/guide.rs does not list {file}");
        }
    }
    assert!(blocks > 30, "{blocks}");
}

/// A page of the book shows so many columns of code. A reader would have to scroll to see the end of a longer line of a drawing.
#[test]
fn drawings_fit_the_page() {
    let mut wide = vec![];
    for file in markdown_files() {
        let blocks = code_blocks(&text(&file)).into_iter().filter(|(kind, _)| !kind.contains("rust"));
        wide.extend(blocks.flat_map(|(_, code)| {
            let lines = code.lines().filter(|line| line.chars().count() > COLUMNS);
            lines.map(|line| format!("{file}: {line}")).collect::<Vec<_>>()
        }));
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

/// mdBook computes the names of headings itself. This checks what it has written.
#[test]
#[ignore = "scripts/guide.sh builds the guide, and then runs this"]
fn each_link_of_the_built_guide_leads_somewhere() {
    let folder = root().join("target/guide");
    let pages: BTreeMap<PathBuf, String> = fs::read_dir(&folder)
        .expect("scripts/guide.sh has built the guide")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .map(|path| (path.clone(), fs::read_to_string(&path).expect("text")))
        .collect();
    assert!(pages.len() > markdown_files().len(), "{}", pages.len());
    let (mut checked, mut broken) = (0, vec![]);
    for (page, html) in &pages {
        for link in values_of(html, "href").chain(values_of(html, "src")).filter(|link| !link.contains(':')) {
            checked += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            let has_fragment = || pages.get(&target).is_some_and(|html| values_of(html, "id").any(|id| id == fragment));
            if !target.exists() || !fragment.is_empty() && !has_fragment() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(checked > 1000, "{checked}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of the files of the guide, the summary among them.
fn markdown_files() -> BTreeSet<String> {
    let files = fs::read_dir(root().join(CHAPTERS)).expect("the folder of the guide");
    files.map(|file| file.expect("a file").file_name().into_string().expect("a name in UTF-8")).collect()
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(CHAPTERS).join(file)).expect("a file of the guide")
}

/// The text of a chapter, with the files that it includes.
fn expanded(file: &str) -> String {
    let mut text = text(file);
    for (whole, path, anchor) in includes(&text) {
        let included = fs::read_to_string(root().join(CHAPTERS).join(&path));
        let included = included.unwrap_or_else(|error| panic!("{file} includes {path}: {error}"));
        let part = match anchor {
            None => included,
            Some(anchor) => {
                let marks = [format!("<!-- ANCHOR: {anchor} -->"), format!("<!-- ANCHOR_END: {anchor} -->")];
                let part = included.split_once(&*marks[0]).and_then(|(_, rest)| rest.split_once(&*marks[1]));
                part.unwrap_or_else(|| panic!("{path} has no part {anchor}, which {file} includes")).0.into()
            }
        };
        text = text.replace(&whole, &part);
    }
    text
}

/// The directives of mdBook in a text that include a file: the directive, the path, and the name of a part of the file.
fn includes(text: &str) -> Vec<(String, String, Option<String>)> {
    let directives = text.split("{{#include ").skip(1).map(|rest| rest.split_once("}}").expect("the end of a directive").0);
    directives
        .map(|directive| {
            let (path, anchor) =
                directive.split_once(':').map_or((directive, None), |(path, anchor)| (path, Some(anchor.into())));
            (format!("{{{{#include {directive}}}}}"), path.into(), anchor)
        })
        .collect()
}

/// The targets of all links and images of a text.
fn links(text: &str) -> Vec<String> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES);
    events
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
            _ => None,
        })
        .collect()
}

/// The name that mdBook, as GitHub, gives to each heading of a text.
fn heading_names(text: &str) -> BTreeSet<String> {
    let (mut names, mut heading) = (BTreeSet::new(), None::<String>);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let kept = heading.take().expect("a heading begins before it ends").to_lowercase();
                let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
                let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
                let numbered = (1..).map(|number| format!("{name}-{number}"));
                let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
                names.extend(free);
            }
            _ => {}
        }
    }
    names
}

/// The language of each code block, with its attributes, and its code.
fn code_blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = vec![];
    let mut is_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                is_code = true;
                let CodeBlockKind::Fenced(language) = kind else { panic!("a block without a language") };
                blocks.push((language.into_string(), String::new()));
            }
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(part) if is_code => blocks.last_mut().expect("a block has begun").1.push_str(&part),
            _ => {}
        }
    }
    blocks
}

/// Why a link of `file` leads nowhere, if it does. `texts` are the files of the guide.
fn broken(link: &str, file: &str, texts: &BTreeMap<String, String>) -> Option<String> {
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let text = if let Some(path) = path.strip_prefix(REPOSITORY) {
        let path = Path::new(path);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{link}");
        match fs::read(root().join(path)) {
            // A picture has no headings.
            Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
            Err(error) => return Some(format!("names a file of the repository that cannot be read: {error}")),
        }
    } else if path.contains("://") {
        return None;
    } else {
        match texts.get(if path.is_empty() { file } else { path }) {
            Some(text) => text.clone(),
            None => return Some("names no file of the guide".into()),
        }
    };
    let leads_to_a_heading = fragment.is_empty() || heading_names(&text).contains(fragment);
    (!leads_to_a_heading).then(|| format!("names no heading; there are {:?}", heading_names(&text)))
}

/// The values of an attribute in a page.
fn values_of<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let parts = html.split(&format!(" {attribute}=\"")).collect::<Vec<_>>();
    parts.into_iter().skip(1).filter_map(|rest| rest.split_once('"').map(|(value, _)| value))
}
